"""Where kernels may be written, and what is said where their source cannot be had."""

from __future__ import annotations

import functools
import importlib
import linecache
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from unit.frontend.harness import cell, launch, lower, pointed_at, refuse, refuse_text

import heald as wp
from heald.diagnostics import CompileError
from heald.types import f64


def load(path: Path, text: str, name: str) -> ModuleType:
    """Write a module and import it as Python does."""
    path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def value(kernel: object) -> float:
    """What a kernel writes to the one element of its array."""
    a = np.zeros(1, np.float32)
    launch(kernel, 1, a)
    return float(a[0])


# ------------------------------------------------------------------------------- where they stand


def factory(amount: float):
    def inner():
        @wp.kernel
        def nested(a: wp.array(dtype=float)):
            a[0] = amount

        return nested

    return inner()


def test_nested_functions_capture_their_closure() -> None:
    assert [value(factory(x)) for x in (1.5, 2.5)] == [1.5, 2.5]


def decorated(function):
    return function


@wp.kernel(
    enable_backward=False,
    name="renamed",
)
@decorated
def over_many_lines(
    a: wp.array(
        dtype=float,
    ),
):
    """Has a docstring."""
    a[0] = 4.0


def test_decorators_and_parameters_over_many_lines() -> None:
    assert value(over_many_lines) == 4.0
    assert over_many_lines.key == "renamed"


class Holder:
    GAIN = 3.0

    @wp.func
    def scaled(self: float):
        return self * Holder.GAIN

    @wp.kernel
    def kernel(self: wp.array(dtype=float)):
        self[0] = Holder.scaled(2.0)


def test_kernels_in_class_bodies() -> None:
    assert value(Holder.kernel) == 6.0


if True:

    @wp.kernel
    def same(a: wp.array(dtype=float)):
        a[0] = 1.0


first_same = same

if True:

    @wp.kernel
    def same(a: wp.array(dtype=float)):
        a[0] = 2.0


def test_two_kernels_of_one_name_in_one_file() -> None:
    assert (value(first_same), value(same)) == (1.0, 2.0)


def generic_factory(dtype, ndim, gain: float):
    @wp.kernel
    def made(a: wp.array(dtype=dtype, ndim=ndim)):
        x: dtype = a[0]
        a[0] = x * dtype(gain)

    return made


def two_parameters(dtype):
    @wp.kernel
    def made(a: wp.array(dtype=float), x: dtype):
        a[0] = float(x)

    return made


def test_postponed_annotations_see_closure_names() -> None:
    """``ndim`` is used by an annotation only, so Python keeps no closure cell for it."""
    kernel = generic_factory(wp.float64, 1, 0.5)
    a = np.array([3.0])
    launch(kernel, 1, a)
    assert a[0] == 1.5
    assert lower(two_parameters(wp.float64)).params[1].type is f64


def test_annotation_that_cannot_be_evaluated() -> None:
    found = refuse_text(
        """
        from __future__ import annotations
        @wp.kernel
        def k(a: wp.array(dtype=missing)):
            pass
        """
    )
    assert (found.code, pointed_at(found)) == ("H0207", "wp.array(dtype=missing)")
    assert "name 'missing' is not defined" in found.message


# ------------------------------------------------------------------------------------ file contents


MODULE = """
import heald as wp
@wp.kernel
def k(a: wp.array(dtype=float)):
    a[0] = 1.0
"""


def test_a_file_edited_after_import_keeps_its_meaning(tmp_path: Path) -> None:
    module = load(tmp_path / "edited.py", MODULE, "edited_module")
    (tmp_path / "edited.py").write_text(MODULE.replace("1.0", "77.0"))
    linecache.checkcache()
    assert value(module.k) == 1.0


def test_a_module_loaded_again_has_its_new_meaning(tmp_path: Path) -> None:
    path = tmp_path / "again.py"
    assert value(load(path, MODULE, "again_module").k) == 1.0
    changed = MODULE.replace("1.0", "12.0")  # another length, so that the time stamp is no matter
    assert value(load(path, changed, "again_module").k) == 12.0


def test_a_deleted_file_is_remembered(tmp_path: Path) -> None:
    module = load(tmp_path / "gone.py", MODULE, "gone_module")
    (tmp_path / "gone.py").unlink()
    linecache.checkcache()
    assert value(module.k) == 1.0


def test_windows_line_ends_and_tabs(tmp_path: Path) -> None:
    text = MODULE.replace("    ", "\t").replace("1.0", "1.0 + undefined").replace("\n", "\r\n")
    module = load(tmp_path / "windows.py", text.encode(), "windows_module")
    (found,) = refuse(module.k)
    assert pointed_at(found) == "undefined"
    assert "\r" not in found.render()
    lines = found.render().splitlines()
    assert lines[4].index("^") == lines[3].index("undefined")


def test_columns_count_characters_and_carets_count_cells() -> None:
    kernels = cell(
        """
        @wp.kernel
        def k(größe: wp.array(dtype=float)):
            größe[0] = 1.0; ñ = "日本語"; größe[1] = fehlt
        """
    )
    (found,) = refuse(kernels["k"])
    assert pointed_at(found) == "fehlt"
    *_, source, carets = found.render().splitlines()
    before = source[: source.index("fehlt")]
    assert carets.index("^") == len(before) + 3  # three characters are two cells wide
    assert carets.count("^") == 5


# ----------------------------------------------------------------------------------- cells, prompts


def test_cells_redefine_kernels() -> None:
    texts = [f"@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = {x}\n" for x in (1.0, 2.0)]
    kernels = [cell(text)["k"] for text in texts]
    assert [value(k) for k in kernels] == [1.0, 2.0]


EXEC = "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = 1.0\n"


def test_exec_from_a_string_says_that_there_is_no_source() -> None:
    names = {"wp": wp, "__name__": "made"}
    exec(EXEC, names)
    with pytest.raises(CompileError, match="exec or python -c") as caught:
        lower(names["k"])
    assert caught.value.codes == ("H0106",)


def test_exec_with_a_file_name_that_does_not_exist() -> None:
    names = {"wp": wp, "__name__": "made"}
    exec(compile(EXEC, "nowhere.py", "exec"), names)
    with pytest.raises(CompileError, match=r"nowhere\.py cannot be read"):
        lower(names["k"])


def test_a_function_that_no_decorator_saw_and_whose_file_changed(tmp_path: Path) -> None:
    text = "def k():\n    pass\n"
    module = load(tmp_path / "plain.py", text, "plain_module")
    (tmp_path / "plain.py").write_text("# now it begins with a comment\n" + text)
    linecache.checkcache()
    with pytest.raises(CompileError, match="has changed since the function was defined"):
        lower(module.k)


def test_a_file_that_no_longer_parses(tmp_path: Path) -> None:
    module = load(tmp_path / "odd.py", "def k():\n    pass\n", "odd_module")
    (tmp_path / "odd.py").write_text("def k(:\n")
    linecache.checkcache()
    with pytest.raises(CompileError, match="no longer parses as Python"):
        lower(module.k)


def wrapping(f: object) -> object:
    @functools.wraps(f)
    def inner(a: wp.array(dtype=float)):
        a[0] = 2.0

    return inner


@wp.kernel
@wrapping
def wrapped(a: wp.array(dtype=float)):
    a[0] = 1.0


def test_a_wrapper_is_compiled_as_it_is_written() -> None:
    assert wrapped.key == "wrapped"
    a = wp.zeros(1)
    wp.launch(wrapped, dim=1, inputs=[a])
    assert a.list() == [2.0]
    assert lower(wrapped).span.line == wrapping.__code__.co_firstlineno + 2


def test_a_wrapper_that_takes_anything_is_refused() -> None:
    found = refuse_text(
        """
        import functools

        def logged(f):
            @functools.wraps(f)
            def inner(*args):
                return f(*args)
            return inner

        @wp.kernel
        @logged
        def k(a: wp.array(dtype=float)):
            pass
        """
    )
    assert (found.code, pointed_at(found)) == ("H0104", "args")
    assert "this function wraps 'k'" in found.hint


def test_a_function_that_was_renamed() -> None:
    def first(a: wp.array(dtype=float)):
        a[0] = 1.0

    first.__name__ = "second"
    assert value(wp.kernel(first)) == 1.0


def test_lambdas_and_coroutines() -> None:
    with pytest.raises(CompileError, match="it is a lambda; kernels are written with def"):
        lower(wp.kernel(lambda a: None))
    found = refuse_text("@wp.kernel\nasync def k(a: wp.array(dtype=float)):\n    pass\n")
    assert (found.code, pointed_at(found)) == ("H0101", "async")


PROMPT = """
import heald as wp
@wp.kernel
def k(a: wp.array(dtype=float)):
    a[0] = 1.0

try:
    wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float)])
except wp.CompileError as error:
    print(error)

"""


@pytest.mark.parametrize(
    ("arguments", "text", "expected"),
    [
        (["-i", "-q"], PROMPT, "the Python prompt keeps no source"),
        (["-c", PROMPT], "", "exec or python -c"),
    ],
)
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python 3.13 keeps the source")
def test_prompts_say_that_there_is_no_source(
    arguments: list[str], text: str, expected: str
) -> None:
    answer = subprocess.run(
        [sys.executable, *arguments], input=text, capture_output=True, text=True, check=True
    )
    assert expected in answer.stdout
