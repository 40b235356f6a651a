"""LLVM text to machine code: what is inlined, what stays, and what is left behind."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from heald.codegen import assembly, compile_object, host_target, optimised_text
from heald.codegen.jit import load_object
from heald.diagnostics import InternalError

pytestmark = pytest.mark.cpu

TEXT = """
define internal i64 @square(i64 %x) alwaysinline {{
  %y = mul i64 %x, %x
  ret i64 %y
}}

define internal i64 @unused(i64 %x) {{
  ret i64 %x
}}

define i64 @{name}(i64 %x) {{
  %value = call i64 @square(i64 %x)
  %again = call i64 @square(i64 %x)
  %both = add i64 %value, %again
  ret i64 %both
}}
"""

LOOP = """
define i64 @ten(i64 %x) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %i1 = add nuw i64 %i, 1
  %more = icmp ult i64 %i1, 10
  br i1 %more, label %next, label %done
done:
  ret i64 %i1
}
"""


def text(name: str = "f") -> str:
    return host_target().header + TEXT.format(name=name)


def test_functions_are_inlined_and_simplified() -> None:
    left = optimised_text(text(), host_target())
    assert "@square" not in left
    assert "@unused" not in left
    assert left.count(" mul ") == 1
    assert "imul" in assembly(text(), host_target())


def test_level_1_knows_no_loops() -> None:
    """It folds what stands in a row; a sum over constant bounds stays a loop."""
    left = optimised_text(text(), host_target(), level=1)
    assert "@square" not in left
    assert left.count(" mul ") == 1
    summed = host_target().header + LOOP
    assert " phi " not in optimised_text(summed, host_target())
    assert " phi " in optimised_text(summed, host_target(), level=1)


def test_level_0_inlines_only() -> None:
    left = optimised_text(text(), host_target(), level=0)
    assert "@square" not in left
    assert left.count(" mul ") == 2


def test_code_does_not_depend_on_what_was_compiled_before() -> None:
    first = compile_object(text(), host_target())
    compile_object(text("other"), host_target())
    with pytest.raises(InternalError, match="LLVM refuses"):
        compile_object("define nonsense", host_target())
    assert compile_object(text(), host_target()) == first


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for memory")
def test_compiling_and_loading_leaves_little_behind() -> None:
    """About 9 KiB for each object that was loaded; LLVM's passes once left 80 more."""

    def compile_and_drop(count: int) -> None:
        for n in range(count):
            name = f"f{n}"
            load_object(compile_object(text(name), host_target()), (name,))

    compile_and_drop(40)
    before = resident()
    compile_and_drop(200)
    assert (resident() - before) / 200 < 30
