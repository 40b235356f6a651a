"""The WIR of the front end, kernel by kernel: as lowered, and after the pipeline before proofs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.frontend.harness import lower

import heald as wp
from heald.ir import LOOPS, Kernel, check, equal, parse, to_text, walk
from heald.ops import TABLE
from heald.passes import FRONT, SCALAR_CPU, guard, run_pipeline
from heald.passes.pipelines import TIDY
from heald.types import Struct, leaves

HERE = Path(__file__).parent


def _load() -> dict[str, wp.Kernel]:
    spec = importlib.util.spec_from_file_location("wir_kernels", HERE / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: k for name, k in vars(module).items() if isinstance(k, wp.Kernel)}


KERNELS = _load()


def again(kernel: Kernel) -> Kernel:
    """The kernel read from its own text."""
    return parse(to_text(kernel), TABLE)


@pytest.mark.parametrize("name", KERNELS)
def test_front_end(name: str, golden: Callable[[str, str], None]) -> None:
    wir = lower(KERNELS[name])
    golden(f"{name}.front.wir", to_text(wir))
    assert equal(wir, again(wir))


@pytest.mark.parametrize("name", KERNELS)
def test_pipeline_before_proofs(name: str, golden: Callable[[str, str], None]) -> None:
    wir = run_pipeline(lower(KERNELS[name]), FRONT, check=True)
    golden(f"{name}.lowered.wir", to_text(wir))
    check(wir, TABLE)
    assert equal(wir, again(wir))


@pytest.mark.parametrize("name", KERNELS)
def test_every_op_knows_its_place(name: str) -> None:
    """Spans lie in the kernel's file, or lead there through the calls of inlined functions."""
    wir = lower(KERNELS[name])
    first = wir.span
    assert first is not None
    stack = list(wir.body.ops)
    while stack:
        op = stack.pop()
        stack += [inner for region in op.regions for inner in region.ops]
        assert op.span is not None, op.name
        assert op.span.outermost.file == first.file
        assert first.line <= op.span.outermost.line <= first.end_line


def test_there_is_a_golden_file_for_every_kernel_and_no_other() -> None:
    files = {p.name for p in (HERE / "expected").glob("*.wir")}
    stages = {f"{name}.{stage}.wir" for name in KERNELS for stage in ("front", "lowered")}
    assert files == stages


def test_struct_fields_flatten_in_declaration_order() -> None:
    t = KERNELS["structs"].parameters[1][1]
    assert isinstance(t, Struct)
    assert [str(leaf) for leaf in leaves(t)] == ["array<f32,1>", "f32"]


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_tidy_stays_as_it_is(name: str) -> None:
    """So code generation need not tidy up again where nothing was expanded or had exits."""
    front = guard(run_pipeline(lower(KERNELS[name]), FRONT, check=True))
    if not any(op.name in LOOPS for op in walk(front.body)):  # nothing was hoisted
        assert run_pipeline(front, TIDY, check=True) is front
    scalar = run_pipeline(front, SCALAR_CPU, check=True)
    assert run_pipeline(scalar, TIDY, check=True) is scalar
