"""Long and deep sources: they work or are refused, and never exhaust the stack."""

import linecache
import math
import sys
import threading

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
    chain = f" {operator} ".join(["a[i]"] * 1500)
    kernel = kernel_of(f"    a[i] = {chain}\n", "long_chain")
    for device in ("cpu", "sim"):
        a = wp.ones(1, device=device)
        wp.launch(kernel, dim=1, inputs=[a], device=device)
        assert a.list() == [1500.0 if operator == "+" else -1498.0]


def test_a_chain_of_products_and_sums_contracts_as_written():
    kernel = kernel_of("    a[i] = a[i] * 3.0 + 1.0 - a[i] * a[i] + 2.0 * a[i] * a[i]\n", "mixed")
    program = kernel.program(kernel.concrete_types())
    names = [op.name for op in walk(program.wir.body) if op.name.startswith("f")]
    assert names.count("fma") == 3


def nested_roots(name):
    expression = "a[i]"
    for _ in range(150):
        expression = f"wp.sqrt(1.0 + {expression})"
    return kernel_of(f"    a[i] = {expression}\n", name)


def test_a_deep_expression():
    a = wp.ones(1)
    wp.launch(nested_roots("roots"), dim=1, inputs=[a])
    assert a[0] == pytest.approx((1 + math.sqrt(5)) / 2)


def test_too_deep_is_a_compile_error(monkeypatch):
    monkeypatch.setattr("heald.driver.deep._FRAMES", 0)
    with pytest.raises(wp.CompileError, match=r"(?s)H0101.*nested too deep.*bind parts"):
        wp.launch(nested_roots("too_deep"), dim=1, inputs=[wp.ones(1)])


def chain_of(count):
    """``elif`` after ``elif``, which the parser puts inside each other."""
    cases = [f"    elif i == {k}:\n        a[i] = {k}.0\n" for k in range(1, count)]
    return "    if i == 0:\n        a[i] = -1.0\n" + "".join(cases)


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_long_chains_of_elif(device):
    kernel = kernel_of(chain_of(150), "chain")
    limit, size = sys.getrecursionlimit(), threading.stack_size()
    a = wp.zeros(150, device=device)
    wp.launch(kernel, dim=150, inputs=[a], device=device)
    assert a.list() == [-1.0, *map(float, range(1, 150))]
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, size)


def test_longer_chains_are_refused_with_a_way_out():
    kernel = kernel_of(chain_of(300), "too_long_a_chain")
    with pytest.raises(wp.CompileError, match=r"(?s)H0101.*180 blocks.*elif i == 180.*@wp.func"):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1)])


def test_many_returns_one_after_another():
    cases = "".join(f"    if i == {k}:\n        return {k}.0\n" for k in range(200))
    text = f"@wp.func\ndef pick(i: int):\n{cases}    return -1.0\n"
    file = "<pick of test_depth>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"wp": wp}
    exec(compile(text, file, "exec"), names)

    @wp.kernel
    def look(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = pick(i)

    pick = names["pick"]
    a = wp.zeros(201)
    wp.launch(look, dim=201, inputs=[a])
    assert a.list() == [*map(float, range(200)), -1.0]


def test_a_simulated_launch_of_a_deep_kernel_runs_once():
    cases = "".join(f"{'    ' * k}    if a[0] >= 0.0:\n" for k in range(60))
    kernel = kernel_of(f"{cases}{'    ' * 61}a[0] += 1.0\n", "once")
    a = wp.zeros(1, device="sim")

    def at_depth(frames):
        if frames:
            at_depth(frames - 1)
        else:
            wp.launch(kernel, dim=1, inputs=[a], device="sim")

    at_depth(0)
    at_depth(sys.getrecursionlimit() - 200)
    assert a.list() == [2.0]
