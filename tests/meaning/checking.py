"""One kernel, run in every way that must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from meaning.language import lower_text
from meaning.oracle import Thread, World
from meaning.running import (
    Left,
    Mismatch,
    by_python,
    compare,
    execute,
    interpret,
    looked_up,
    random_array,
    random_value,
)
from meaning.sources import COLUMNS, DIMS, Source

from heald.artifact import Fault
from heald.codegen import parallel_launcher
from heald.frontend import Options
from heald.interp import run_serial
from heald.ir import Kernel, check, op_ids, parse, to_text
from heald.ops import TABLE
from heald.passes import (
    FRONT,
    NORMAL,
    SCALAR_CPU,
    analyse_intervals,
    guard,
    pass_name,
    run_pipeline,
)
from heald.passes.pipelines import AHEAD
from heald.runtime import ParallelLauncher
from heald.types import Array, Scalar, Type, leaves

THREADS = 12


@dataclass(frozen=True)
class Case:
    """A kernel with launch extents and arguments.

    ``constants`` are the numbers that its source captures; ``strict`` kernels have no fma,
    and some call what the oracle does not have.
    """

    text: str
    kernel: Kernel
    dims: tuple[int, ...]
    args: list[Any]
    constants: Mapping[str, Any] = field(default_factory=dict)
    strict: bool = False
    has_oracle: bool = True


def case_of(source: Source, seed: int, scale: int = 1) -> Case:
    """Lower a source and make arguments for it: for twelve threads, or ``scale`` times as many."""
    knobs = source.knobs
    kernel = lower_text(source.text, f"seed{seed}", Options(strict_fp=knobs.strict))
    assert to_text(parse(to_text(kernel), TABLE)) == to_text(kernel)
    random = np.random.default_rng(seed)
    threads = THREADS * scale
    careless = knobs.faults and random.random() < 0.6

    def extents(name: str, ndim: int) -> tuple[int, ...]:
        if name in ("OF", "OI"):
            return threads, COLUMNS
        if name in "GHX":
            return (5, 4)[:ndim]
        more = int(random.integers(0, 4))
        first = int(random.integers(0, threads + 3)) if careless else threads + more
        if name == "Y":
            return 4, first
        return (first, 4)[:ndim]

    def argument(name: str, t: Type) -> Any:
        if isinstance(t, Array):
            return random_array(t, extents(name, t.ndim), random, wild=knobs.wild)
        if isinstance(t, Scalar):
            return random_value(t, random, wild=knobs.wild)
        return tuple(argument(name, leaf) for leaf in leaves(t))

    args = {kernel.name_of(p): argument(kernel.name_of(p), p.type) for p in kernel.params}
    if "P" in args and random.random() < 0.6:
        args["P"] = args["B"]
    first, *rest = DIMS[knobs.rank]
    dims = (first * scale, *rest)
    return Case(
        source.text,
        kernel,
        dims,
        [*args.values()],
        strict=knobs.strict,
        has_oracle=not knobs.library,
    )


def examine(case: Case, *, compiled: bool = True, oracle: bool = True) -> Left:
    """Raise ``Mismatch`` where two ways to run the case differ; gives what all leave behind."""
    kernel, dims, args = case.kernel, case.dims, case.args
    expected = interpret(kernel, dims, args)
    compare("serial", expected, interpret(kernel, dims, args, run_serial))
    if oracle and case.has_oracle:
        compare_with_python(case, expected)
    front = kernel
    for function in FRONT:
        front = _stepped(case, expected, "", function, front)
    compare_unguarded(case, expected, front, compiled=compiled)
    for variant, guarded in variants(front, dims, args):
        _compare_after(f"{variant} guard", case, expected, guarded)
        after = guarded
        for number, function in enumerate(NORMAL):
            if number == len(SCALAR_CPU):
                if compiled:
                    _compare_compiled(f"{variant} compiled", case, after)
                for ahead in AHEAD:
                    _stepped(case, expected, variant, ahead, after)
            after = _stepped(case, expected, variant, function, after)
        if compiled and variant == "guarded" and len(case.text) % 3 == 0:
            _compare_compiled("normalised compiled", case, after)
    return expected


def examine_in_parallel(case: Case) -> Left:
    """Many threads: all at once, in chunks, and on every core."""
    kernel, dims, args = case.kernel, case.dims, case.args
    address = parallel_launcher()
    assert address is not None
    launcher = ParallelLauncher(address, survives_fork=True)
    final = run_pipeline(guard(run_pipeline(kernel, FRONT, check=True)), SCALAR_CPU, check=True)
    expected = interpret(final, dims, args)
    compare("chunks", expected, interpret(final, dims, args, chunk=100))
    compare("one core", expected, execute(final, dims, args, threads=1))
    compare("every core", expected, execute(final, dims, args, parallel=launcher))
    return expected


def _stepped(
    case: Case, expected: Left, variant: str, function: Callable[[Kernel], Kernel], before: Kernel
) -> Kernel:
    name = f"{variant} {pass_name(function)}".strip()
    after = function(before)
    check(after, TABLE)
    if after is not before:
        _compare_after(name, case, expected, after)
    return after


def _compare_after(name: str, case: Case, expected: Left, after: Kernel) -> None:
    """After passes; a dead access may be gone with its fault, so faults may only become fewer."""
    found = interpret(after, case.dims, case.args)
    if expected.fault is None:
        compare(name, _without_ids(expected), _without_ids(found))
    elif found.fault is not None and found.fault.count > expected.fault.count:
        raise Mismatch(f"{name}: fault {found.fault}, before {expected.fault}")


def _without_ids(left: Left) -> Left:
    """Before ``guard`` every pass gives other ids to print statements."""
    return replace(left, printed=[(r[0], r[1], *r[3:]) for r in left.printed])


def _compare_compiled(name: str, case: Case, kernel: Kernel) -> None:
    expected = interpret(kernel, case.dims, case.args)
    compare(name, expected, execute(kernel, case.dims, case.args))


def variants(
    kernel: Kernel, dims: Sequence[int], args: Sequence[Any]
) -> Iterator[tuple[str, Kernel]]:
    """The kernel with guards, and where the launch condition holds with fewer of them."""
    found = analyse_intervals(kernel)
    verdicts = found.verdicts(kernel)
    yield "guarded", guard(kernel, proofs=verdicts)
    if found.proved_under and found.conditional.holds(looked_up(kernel, dims, args)):
        yield "bounds", guard(kernel, proofs=verdicts, bounds=True)


def compare_unguarded(case: Case, expected: Left, kernel: Kernel, *, compiled: bool) -> None:
    """With every guard, and where nothing faults with those of arrays left out."""
    _compare_after("all guards", case, expected, guard(kernel))
    if expected.fault is None and len(case.text) % 3 == 1:
        unchecked = run_pipeline(guard(kernel, safety="unchecked"), SCALAR_CPU, check=True)
        _compare_after("unchecked", case, expected, unchecked)
        if compiled:
            _compare_compiled("unchecked compiled", case, unchecked)


def compare_with_python(case: Case, expected: Left) -> None:
    """Memory, and of faults the kind, thread, count and line."""
    world = World(case.text, case.constants, strict=case.strict)
    found, threads = by_python(world, case.kernel, case.dims, case.args)
    fault = expected.fault
    faulted = [t for t in threads if t.fault is not None]
    place = _place(case.kernel, fault) if fault else None
    if _python_place(faulted) != place or len(faulted) != (fault.count if fault else 0):
        raise Mismatch(f"python: fault {_python_place(faulted)}, expected {place}, {fault}")
    compare("python", expected, found, fault=False, printed=False)


def _python_place(faulted: Sequence[Thread]) -> tuple[str, int, int] | None:
    if not faulted:
        return None
    first = faulted[0]
    assert first.fault is not None
    return first.fault[0], first.number, first.fault[1]


def _place(kernel: Kernel, fault: Fault) -> tuple[str, int, int]:
    (op,) = [op for op, number in op_ids(kernel).items() if number == fault.op]
    span = op.span
    assert span is not None
    while span.inlined_at is not None and "/library/" in span.file:
        span = span.inlined_at
    return fault.kind.name, fault.thread, span.line
