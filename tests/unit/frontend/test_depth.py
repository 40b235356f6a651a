"""Long and deep sources: they work or are refused, and never exhaust the stack."""

import linecache

import pytest

import heald as wp
from heald.ir import walk


def kernel_of(body, name="deep"):
    """A kernel from statements, whose source Python can read."""
    text = f"@wp.kernel\ndef {name}(a: wp.array(dtype=float)):\n    i = wp.tid()\n{body}"
    file = f"<{name} of test_depth>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"wp": wp}
    exec(compile(text, file, "exec"), names)
    return names[name]


@pytest.mark.parametrize("operator", ["+", "-"])
def test_a_chain_of_any_length(operator):
    chain = f" {operator} ".join(["a[i]"] * 700)
    kernel = kernel_of(f"    a[i] = {chain}\n", "long_chain")
    for device in ("cpu", "sim"):
        a = wp.ones(1, device=device)
        wp.launch(kernel, dim=1, inputs=[a], device=device)
        assert a.list() == [700.0 if operator == "+" else -698.0]


def test_a_chain_of_products_and_sums_contracts_as_written():
    kernel = kernel_of("    a[i] = a[i] * 3.0 + 1.0 - a[i] * a[i] + 2.0 * a[i] * a[i]\n", "mixed")
    program = kernel.program(kernel.concrete_types())
    names = [op.name for op in walk(program.wir.body) if op.name.startswith("f")]
    assert names.count("fma") == 3


def test_too_deep_is_a_compile_error():
    expression = "a[i]"
    for _ in range(150):
        expression = f"wp.sqrt(1.0 + {expression})"
    kernel = kernel_of(f"    a[i] = {expression}\n", "too_deep")
    with pytest.raises(wp.CompileError, match="nested too deep"):
        wp.launch(kernel, dim=1, inputs=[wp.ones(1)])
