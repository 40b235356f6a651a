"""Launches that may run at the same time: proved to keep apart, or seen to touch one byte."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import prod
from operator import itemgetter

import numpy as np

from heald.diagnostics import HealdError, Note, Span
from heald.driver.arguments import Argument, ArrayArgument, thread_coordinates
from heald.driver.observing import Ledger, Touch, conflict, observe
from heald.driver.verify import launch_facts
from heald.driver.verify_issue import Issue, Verdict
from heald.driver.verify_names import Names
from heald.driver.verify_text import describe_beyond
from heald.interp import ArrayView
from heald.interp.lanes import prepare
from heald.ir import ATOMICS, Kernel, op_ids
from heald.passes.meetings import shares_block
from heald.proof.prove import NO_SOLVER
from heald.proof.sequences import Collision, Layout, Placed, collisions
from heald.runtime import byte_span, memory_bytes
from heald.types import size_of

_MOST_BYTES = 1 << 26
_MOST_THREADS = 512
_FUEL = 20_000
_HINT = "order the launches with an event or by one stream, or give them other arrays"


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A launch that is looked at.

    Attributes:
        kernel: its WIR before guards.
        dims: extents.
        arguments: one for each parameter.
        block_dim: threads of a block.
        on_host: whether its arrays can be read here.
    """

    kernel: Kernel
    dims: tuple[int, ...]
    arguments: tuple[Argument, ...]
    block_dim: int
    on_host: bool


def unordered(count: int, order: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Pairs of launches that no chain of edges orders."""
    reach = _reach(count, order)
    return ((a, b) for a, b in combinations(range(count), 2) if not (reach[a, b] or reach[b, a]))


def in_circle(count: int, order: Sequence[tuple[int, int]]) -> list[int]:
    """Launches that would have to run before themselves."""
    return [int(k) for k in np.flatnonzero(np.diagonal(_reach(count, order)))]


def _reach(count: int, order: Sequence[tuple[int, int]]) -> np.ndarray:
    """Which launches come before which by chains of edges."""
    reach = np.zeros((count, count), bool)
    for earlier, later in order:
        reach[earlier, later] = True
    for middle in range(count):
        reach |= np.outer(reach[:, middle], reach[middle])
    return reach


def judge_pair(first: Planned, second: Planned) -> list[Issue]:
    """What stands against running two launches at the same time; nothing where they keep apart."""
    if 0 in (prod(first.dims), prod(second.dims)) or _are_apart(first, second):
        return []
    span, hint = first.kernel.span, _HINT
    try:
        found = collisions(_placed(first), _placed(second))
    except ImportError:
        found, hint = NO_SOLVER, describe_beyond(NO_SOLVER)
    if isinstance(found, str):
        return [Issue("races", Verdict.UNKNOWN, f"not judged: {found}", span, hint=hint)]
    names = Names(first.kernel), Names(second.kernel)
    return [_issue(first, second, names, collision) for collision in found]


def _are_apart(first: Planned, second: Planned) -> bool:
    """Do the bytes of all arrays of one lie apart from those of the other?"""
    return all(
        a[1] <= b[0] or b[1] <= a[0]
        for a in map(_span, _arrays(first))
        for b in map(_span, _arrays(second))
    )


def _arrays(launch: Planned) -> list[ArrayArgument]:
    parts = (leaf for argument in launch.arguments for leaf in argument.leaves)
    return [leaf for leaf in parts if isinstance(leaf, ArrayArgument)]


def _span(array: ArrayArgument) -> tuple[int, int]:
    low, high = byte_span(array.shape, array.strides, size_of(array.dtype))
    return array.ptr + low, array.ptr + high


def _placed(launch: Planned) -> Placed:
    layouts = {
        (number, k): Layout(leaf.ptr, leaf.strides)
        for number, argument in enumerate(launch.arguments)
        for k, leaf in enumerate(argument.leaves)
        if isinstance(leaf, ArrayArgument)
    }
    facts = launch_facts(launch.kernel, launch.dims, launch.arguments, launch.block_dim)
    return Placed(launch.kernel, facts, layouts)


def _issue(
    first: Planned, second: Planned, names: tuple[Names, Names], collision: Collision
) -> Issue:
    array = names[0].array(collision.first)
    place, other = names[0].span(collision.first), names[1].span(collision.second)
    seen = None
    if collision.threads is not None and first.on_host and second.on_host:
        seen = _seen(first, second, collision.threads)
    if seen is None:
        message = f"cannot show that nothing of '{array}' is touched by kernel "
        message += f"'{second.kernel.name}', which may run at the same time"
        return Issue("races", Verdict.UNKNOWN, message, place, _notes(other, second), _HINT)
    message = f"a race between launches: {_thread(seen[0])} of kernel '{first.kernel.name}' and "
    message += f"{_thread(seen[1])} of kernel '{second.kernel.name}' meet in '{array}'"
    return Issue("races", Verdict.REFUTED, message, place, _notes(other, second), _HINT)


def _notes(span: Span | None, second: Planned) -> tuple[Note, ...]:
    return (Note(f"the access of kernel '{second.kernel.name}'", span),)


def _thread(place: Sequence[int]) -> str:
    return f"thread {place[0] if len(place) == 1 else tuple(place)}"


# -- replay ----------------------------------------------------------------------------------------


def _seen(
    first: Planned, second: Planned, threads: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Two threads that meet when the launches run on copies of their arrays."""
    if shares_block(first.kernel) or shares_block(second.kernel):
        return None
    pieces = _pieces(
        sorted(_span(array) for launch in (first, second) for array in _arrays(launch))
    )
    if sum(high - low for low, high in pieces) > _MOST_BYTES:
        return None
    try:
        touched = [
            _touched(launch, chosen, pieces)
            for launch, chosen in zip((first, second), threads, strict=True)
        ]
    except HealdError:
        return None
    for address, by_thread in touched[0].items():
        for one, a in by_thread.items():
            for two, b in touched[1].get(address, {}).items():
                if conflict(a, b):
                    return thread_coordinates(one, first.dims), thread_coordinates(two, second.dims)
    return None


def _pieces(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The memory that sorted spans cover: those that meet are one.

    Arrays may lie anywhere, so what is between them must not count.
    """
    pieces: list[tuple[int, int]] = []
    for low, high in spans:
        if pieces and low < pieces[-1][1]:
            pieces[-1] = pieces[-1][0], max(high, pieces[-1][1])
        elif low < high:
            pieces.append((low, high))
    return pieces


def _touched(
    launch: Planned, chosen: Sequence[int], pieces: Sequence[tuple[int, int]]
) -> dict[int, dict[int, Touch]]:
    """What threads touch, by place in a copy of ``pieces`` of memory, one behind the other."""
    starts = [0, *accumulate(high - low for low, high in pieces)]
    memory = np.zeros(starts[-1], np.uint8)

    def moved(address: int) -> int:
        number = max(bisect_right(pieces, address, key=itemgetter(0)) - 1, 0)
        return starts[number] + address - pieces[number][0] if pieces else 0

    for array in _arrays(launch):
        a, b = _span(array)
        if a < b:
            copy = memory_bytes(a, b - a, array.owner, read_only=True)
            memory[moved(a) : moved(a) + b - a] = copy
    arguments = [_copied(argument, memory, moved) for argument in launch.arguments]
    run = prepare(launch.kernel, launch.dims, arguments, launch.block_dim, None, _FUEL)
    total = prod(launch.dims)
    threads = range(total)
    if total > _MOST_THREADS:
        linear = 0
        for place, extent in zip(chosen, launch.dims, strict=False):
            linear = linear * extent + place
        threads = range(linear, linear + 1)
    ledger = Ledger()
    found: dict[int, dict[int, Touch]] = {}
    with np.errstate(all="ignore"):
        faulted = {
            t for t, journal, _ in observe(launch.kernel, run, threads, ledger) if journal.fault
        }
    ids = op_ids(launch.kernel)
    alone = {n for op, n in ids.items() if op.name in ATOMICS and op.attrs.get("scope") == "launch"}
    for (_, address), by_thread in ledger.numbers.items():
        for touch in by_thread.values():
            if touch.op in alone and touch.atomic:  # among the threads of its launch only
                touch.read, touch.written = True, touch.written or {b""}
        kept = {t: touch for (t, _), touch in by_thread.items() if t not in faulted}
        found.setdefault(address, {}).update(kept)
    return found


def _copied(argument: Argument, memory: np.ndarray, moved: Callable[[int], int]) -> object:
    """The argument with its arrays in the copy."""
    given = argument.simulated()
    parts = given if isinstance(given, tuple) else (given,)
    made = [
        ArrayView(memory, moved(leaf.ptr), leaf.shape, leaf.strides, leaf.dtype)
        if isinstance(leaf, ArrayArgument)
        else part
        for part, leaf in zip(parts, argument.leaves, strict=True)
    ]
    return tuple(made) if isinstance(given, tuple) else made[0]
