"""Running a kernel before and after a pass, and comparing everything that can be seen of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heald.artifact import Fault
from heald.interp import ArrayView, run
from heald.ir import Kernel, check, parse, walk
from heald.ops import TABLE
from heald.types import Array, Scalar, Type, bf16, leaves

Launch = tuple[Sequence[int], list[Any]]


def kernel_of(text: str) -> Kernel:
    """A well-formed kernel from its text; one without a header has the standard parameters."""
    if "kernel @" not in text:
        text = f"{HEADER} {{\n{text}\nreturn\n}}"
    kernel = parse(text, TABLE)
    check(kernel, TABLE)
    return kernel


HEADER = (
    "kernel @k<1>(%a: array<f32,1>, %b: array<f32,1>, %m: array<i32,2>, %n: i32, %k: i32, "
    "%x: f32, %y: f32, %p: b1)"
)


def random_arguments(kernel: Kernel, extent: int, seed: int, scale: int = 6) -> list[Any]:
    """An argument for each parameter: arrays of this extent on each axis, small numbers and odd
    ones.
    """
    random = np.random.default_rng(seed)
    return [_argument(v.type, extent, random, scale) for v in kernel.params]


def _argument(t: Type, extent: int, random: np.random.Generator, scale: int) -> Any:
    match t:
        case Scalar():
            return _numbers(t, 1, random, scale)[0]
        case Array():
            view = ArrayView.allocate(t.dtype, (extent,) * t.ndim)
            _fill(view, t, random, scale)
            return view
        case _:
            return tuple(_argument(leaf, extent, random, scale) for leaf in leaves(t))


def _numbers(t: Scalar, count: int, random: np.random.Generator, scale: int) -> Any:
    small = random.integers(-scale, scale, count)
    if t.is_float:
        odd = random.choice([0.0, -0.0, np.inf, np.nan, 0.1, 1e-40, -2.5], count)
        values = np.where(random.random(count) < 0.7, small.astype(np.float64), odd)
        return (
            (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            if t is bf16
            else (values.astype(t.carrier))
        )
    if count == 1:
        return small.astype(t.carrier)  # parameters are loop bounds
    wild = random.integers(0, 1 << 63, count, dtype=np.uint64)
    return np.where(random.random(count) < 0.8, small.astype(np.uint64), wild).astype(t.carrier)


def _fill(view: ArrayView, t: Array, random: np.random.Generator, scale: int) -> None:
    for k, leaf in enumerate(leaves(t.dtype)):
        assert isinstance(leaf, Scalar)
        part = view.leaf(k)
        part[...] = _numbers(leaf, part.size, random, scale).reshape(part.shape)


@dataclass(frozen=True)
class Observed:
    """All that a launch leaves behind; NaNs are made equal."""

    faults: tuple[Fault, ...]
    memory: tuple[bytes, ...]
    results: tuple[Any, ...]
    printed: tuple[Any, ...]


def observe(kernel: Kernel, dims: Sequence[int], arguments: Sequence[Any]) -> Observed:
    """Run on copies of the arguments."""
    copies = [_copy(a) for a in arguments]
    outcome = run(kernel, dims, copies, fuel=100_000)
    arrays: list[tuple[Type, Any]] = []
    for parameter, argument in zip(kernel.params, copies, strict=True):
        parts = argument if isinstance(argument, tuple) else (argument,)
        own = leaves(parameter.type) if isinstance(argument, tuple) else (parameter.type,)
        arrays += zip(own, parts, strict=True)
    memory = [_seen(a, t) for t, a in arrays if isinstance(t, Array)]
    flat = [part for r in outcome.results for part in (r if isinstance(r, tuple) else (r,))]
    types = [leaf for t in kernel.results for leaf in leaves(t)]
    results = [
        _same_nan(np.asarray(r), t).tobytes()
        for r, t in zip(flat, types, strict=True)
        if isinstance(t, Scalar)
    ]
    printed = [(p.thread, p.sequence, str(p.values)) for p in outcome.printed]
    return Observed(outcome.faults, tuple(memory), tuple(results), tuple(printed))


def _copy(argument: Any) -> Any:
    if isinstance(argument, tuple):
        return tuple(_copy(a) for a in argument)
    if isinstance(argument, ArrayView):
        buffer = argument.buffer.copy()
        return ArrayView(buffer, argument.offset, argument.shape, argument.strides, argument.dtype)
    return argument


def _seen(view: ArrayView, t: Array) -> bytes:
    parts = [
        _same_nan(view.leaf(k), leaf).tobytes()
        for k, leaf in enumerate(leaves(t.dtype))
        if isinstance(leaf, Scalar)
    ]
    return b"".join(parts)


def _same_nan(numbers: Any, t: Scalar) -> Any:
    if not t.is_float:
        return numbers
    if t is bf16:
        return np.where((numbers & 0x7FFF) > 0x7F80, 0x7FC0, numbers).astype(np.uint16)
    return np.where(np.isnan(numbers), t.carrier.type("nan"), numbers)


def reads_nan_bits(kernel: Kernel) -> bool:
    """Can the sign or payload of a NaN, which no device promises, reach other values?"""
    for op in walk(kernel.body):
        if op.name == "bitcast" and op.operands[0].type.is_float and not op.result.type.is_float:
            return True
        if op.name == "copysign":
            return True
    return False


def assert_same(
    kernel: Kernel,
    after: Kernel,
    launches: Iterable[Launch],
    *,
    same_faults: bool = False,
) -> None:
    """Launches that do not fault leave the same behind; with ``same_faults`` all of them do.

    Analyses go by the identity of ops, so none may stand in two places.
    """
    check(after, TABLE)
    ops = list(walk(after.body))
    assert len(ops) == len(set(ops))
    for dims, arguments in launches:
        expected = observe(kernel, dims, arguments)
        found = observe(after, dims, arguments)
        if same_faults or not expected.faults:
            assert found == expected


def launches_of(kernel: Kernel, seed: int, extents: Sequence[int] = (5, 0, 1)) -> list[Launch]:
    """Launches of a kernel on random arguments: threads as many as elements, fewer, and more."""
    rank = max(1, kernel.rank)
    return [
        ((max(1, extent),) * rank, random_arguments(kernel, extent, seed + extent))
        for extent in extents
    ]


Transform = Callable[[Kernel], Kernel]
