"""Guards that are looked at before a loop."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from unit.passes.launches import kernel_of
from unit.passes.strided import LONG, strided_kernel, strided_launch

from heald.diagnostics import HealdError
from heald.interp import ArrayView, run
from heald.ir import Kernel, check, walk
from heald.ops import TABLE
from heald.passes import SCALAR_CPU, analyse_intervals, guard, run_pipeline
from heald.passes.facts import is_guarded
from heald.passes.hoist_guards import hoist_guards
from heald.types import f32, i32

SEEDS = range(250)
FUEL = 200


def scalar(kernel: Kernel, *, proved: bool = False) -> Kernel:
    verdicts = analyse_intervals(kernel).verdicts(kernel) if proved else {}
    return run_pipeline(guard(kernel, proofs=verdicts), SCALAR_CPU, check=True)


def left(kernel: Kernel, dims: Sequence[int], args: Sequence[Any]) -> tuple[Any, list[bytes]]:
    """The faults of a launch, and the memory that it leaves."""
    own = [replace(a, buffer=a.buffer.copy()) if isinstance(a, ArrayView) else a for a in args]
    outcome = run(kernel, dims, own, fuel=FUEL)
    return outcome.faults, [a.buffer.tobytes() for a in own if isinstance(a, ArrayView)]


def test_bits_and_faults_stay() -> None:
    hoisted = faults = clean = 0
    for seed in SEEDS:
        kernel = scalar(strided_kernel(seed), proved=seed % 2 == 0)
        after = hoist_guards(kernel)
        check(after, TABLE)
        hoisted += after is not kernel
        for n in range(5):
            dims, args = strided_launch(kernel, 5 * seed + n)
            try:
                expected = left(kernel, dims, args)
            except HealdError as error:
                if error.codes != ("H0708",):  # millions of iterations
                    raise
                continue
            assert left(after, dims, args) == expected, (seed, n)
            faults += bool(expected[0])
            clean += not expected[0]
    assert hoisted > 90
    assert faults > 150
    assert clean > 150


BODY = "%x1: f32 = load %a, %j\n%t: f32 = fadd %s, %x1"


def loop(
    body: str = BODY,
    *,
    low: str = "%0",
    step: str = "%k",
    t: str = "i32",
    end: str = "yield %t",
) -> Kernel:
    return scalar(
        kernel_of(
            f"""
            kernel @k<1>(%a: array<f32,1>, %m: array<i32,1>, %n: {t}, %k: {t}, %x: f32, %p: b1) {{
              %0: {t} = const [value=0]
              %1: {t} = const [value=1]
              %down: {t} = const [value=-1]
              %r: f32 = for {low}, %n, {step}, %x (%j: {t}, %s: f32) {{
                {body}
                {end}
              }}
              store %a, %0, %r
              return
            }}
            """
        )
    )


def loops(kernel: Kernel) -> list[bool]:
    """Of each loop whether it guards anything."""
    found = [op for op in walk(kernel.body) if op.name == "for"]
    return [is_guarded(op) or any(map(is_guarded, walk(op.regions[0]))) for op in found]


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        "%w: f32 = load %a, %j\n%v: f32 = load %a, %0\n%t: f32 = fadd %w, %v",
        "%i: i32 = iadd %n, %j\n" + BODY.replace("%a, %j", "%a, %i"),
        "%i: i32 = isub %j, %1\n%q: i32 = iadd %k, %i\n" + BODY.replace("%a, %j", "%a, %q"),
        BODY.replace("%t", "%u") + "\n%v: f32 = load %a, %n\n%t: f32 = fadd %u, %v",
    ],
    ids=["variable", "and one place", "sum", "sum of three", "and a place of the kernel"],
)
def test_taken(body: str) -> None:
    kernel = loop(body)
    assert loops(kernel) == [True]
    assert loops(hoist_guards(kernel)) == [False, True]


@pytest.mark.parametrize("step", ["%1", "%down", "%k"])
def test_steps(step: str) -> None:
    assert loops(hoist_guards(loop(step=step))) == [False, True]


def many(loads: int, computed: int) -> str:
    """A body of so many loads, and ops besides."""
    lines = [f"%i{n}: i32 = iadd %j, %n\n%v{n}: f32 = load %a, %i{n}" for n in range(loads)]
    lines = [f"%l{n}: i32 = const [value={n}]\n{line}" for n, line in enumerate(lines)]
    lines = [line.replace("%j, %n", f"%j, %l{n}") for n, line in enumerate(lines)]
    total = "%s"
    for n in range(computed):
        lines.append(f"%u{n}: f32 = fadd {total}, %v{n % loads}")
        total = f"%u{n}"
    return "\n".join([*lines, f"%t: f32 = fadd {total}, %v0"])


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(lambda: loop(step="%0"), id="no step"),
        pytest.param(lambda: loop(t="i64", step="%down"), id="64 bits and down"),
        pytest.param(
            lambda: loop("%i: i64 = iadd %j, %1\n" + BODY.replace("%a, %j", "%a, %i"), t="i64"),
            id="a sum of 64 bits",
        ),
        pytest.param(lambda: loop(BODY.replace("%j", "%0")), id="one place"),
        pytest.param(
            lambda: loop("%i: i32 = load %m, %j\n" + BODY.replace("%a, %j", "%a, %i")),
            id="a loaded index",
        ),
        pytest.param(
            lambda: loop("%i: i32 = imul %j, %n\n" + BODY.replace("%a, %j", "%a, %i")),
            id="a product",
        ),
        pytest.param(
            lambda: loop("%i: i32 = isub %n, %j\n" + BODY.replace("%a, %j", "%a, %i")),
            id="an index that runs against the loop",
        ),
        pytest.param(lambda: loop(BODY + "\nstore %a, %j, %t"), id="a store"),
        pytest.param(
            lambda: loop(
                "%i: i32 = idiv %n, %j\n%v: f32 = sitofp %i\n" + BODY.replace("%s,", "%v,")
            ),
            id="a guard of another kind",
        ),
        pytest.param(
            lambda: loop(BODY, end="if %p () {\nbreak %t\n} () {\nyield\n}\nyield %t"), id="an exit"
        ),
        pytest.param(lambda: loop(many(1, 3)), id="much to compute"),
        pytest.param(lambda: loop(many(9, 9)), id="much to load"),
    ],
)
def test_refused(kernel) -> None:
    kernel = kernel()
    assert hoist_guards(kernel) is kernel


def test_limits() -> None:
    for body in (many(1, 2), many(8, 8)):
        assert loops(hoist_guards(loop(body))) == [False, True]


@pytest.mark.parametrize("above", [0, 1, 7])
def test_sums_that_wrap_inside_an_array(above: int) -> None:
    """Indices of 32 bits in an array of more elements: the last of them are negative."""
    kernel = loop("%i: i32 = iadd %j, %k\n" + BODY.replace("%a, %j", "%a, %i"), step="%1")
    after = hoist_guards(kernel)
    assert after is not kernel
    a = ArrayView(np.full(4, 7, np.uint8), 0, (LONG,), (0,), f32)
    m = ArrayView.allocate(i32, [1])
    args = [a, m, 9, 2**31 - 9 + above, 0.5, False]
    expected = left(kernel, (1,), args)
    assert bool(expected[0]) == (above > 0)
    assert left(after, (1,), args) == expected


@pytest.mark.parametrize("low", [-1, 0, 4, 5, 6])
@pytest.mark.parametrize("high", [-2, -1, 0, 5])
@pytest.mark.parametrize("step", ["%1", "%down"])
def test_ends(low: int, high: int, step: str) -> None:
    """Both directions, to both ends of five elements and beyond."""
    kernel = loop(low="%k", step=step)
    after = hoist_guards(kernel)
    assert after is not kernel
    a = ArrayView.allocate(f32, [5])
    a.leaf()[...] = np.arange(1, 6)
    args = [a, ArrayView.allocate(i32, [1]), high, low, 0.5, False]
    assert left(after, (1,), args) == left(kernel, (1,), args)


def test_loops_without_guards_stay() -> None:
    kernel = run_pipeline(guard(kernel_of(PROVED), safety="unchecked"), SCALAR_CPU, check=True)
    assert hoist_guards(kernel) is kernel


PROVED = """
kernel @k<1>(%a: array<f32,1>, %n: i32, %x: f32) {
  %0: i32 = const [value=0]
  %1: i32 = const [value=1]
  %r: f32 = for %0, %n, %1, %x (%j: i32, %s: f32) {
    %y: f32 = load %a, %j
    %t: f32 = fadd %s, %y
    yield %t
  }
  store %a, %0, %r
  return
}
"""
