"""Threads under observation: which numbers in memory they touch, and which results wrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heald.artifact import Fault
from heald.diagnostics import HealdError
from heald.interp.control import run_grid
from heald.interp.faults import Journal
from heald.interp.lanes import Group, Launch
from heald.interp.memory import ArrayValue, Lanes, Memory
from heald.interp.serial import run_thread
from heald.interp.shared import Part as Accessed
from heald.interp.values import Datum, Mask, Part
from heald.ir import MEMORY, Kernel, Op, Value, op_ids, walk
from heald.proof import used_leaves
from heald.types import Array, Scalar, leaves

# -- memory ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Touch:
    """What one thread did to a number in memory."""

    op: int
    read: bool = False
    atomic: bool = False
    written: set[bytes] | None = None


class Ledger:
    """Who touched which number.

    Arguments do not overlap and are accessed leaf by leaf, so an address and its memory tell
    numbers apart.  Threads are told with how many barriers their block has come to.  ``ignored``
    counts down the leaves of a load: those that are not used are not entered.
    """

    def __init__(self) -> None:
        self.thread = 0
        self.op = -1
        self.ignored: list[bool] = []
        self.numbers: dict[tuple[int, int], dict[tuple[int, int], Touch]] = {}

    def touch(self, parameter: int, address: Lanes) -> Touch:
        """What the present thread did to a number, to be added to."""
        return self.enter((parameter, int(address[0])), (self.thread, 0), self.op)

    def enter(self, number: tuple[int, int], who: tuple[int, int], op: int) -> Touch:
        """What a thread did to a number between two barriers, to be added to."""
        by_thread = self.numbers.setdefault(number, {})
        found = by_thread.get(who)
        if found is None:
            found = by_thread[who] = Touch(op)
        found.op = op
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Watched(Memory):
    """Memory that enters every access into a ledger; ``busy`` while it writes."""

    parameter: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    busy: list[bool] = field(default_factory=list)

    def read(self, carrier: np.dtype[Any], address: Lanes) -> Lanes:
        if not (self.ledger.ignored and self.ledger.ignored.pop()):
            self.ledger.touch(self.parameter, address).read = True
        return Memory.read(self, carrier, address)

    def write(self, address: Lanes, numbers: Lanes) -> None:
        touch = self.ledger.touch(self.parameter, address)
        touch.written = (touch.written or set()) | {numbers.tobytes()}
        self.busy.append(True)
        Memory.write(self, address, numbers)
        self.busy.clear()

    def mark(self, carrier: np.dtype[Any], address: Lanes) -> None:
        if not self.busy:  # an atomic: it alone marks what it changed by itself
            self.ledger.touch(self.parameter, address).atomic = True
        Memory.mark(self, carrier, address)


class _InBlocks:
    """A watcher of an argument that enters what threads of blocks do into a ledger."""

    def __init__(
        self, memory: Memory, parameter: int, launch: Launch, threads: Sequence[int], ledger: Ledger
    ) -> None:
        self.memory = memory
        self._parameter = parameter
        self._launch = launch
        self._ledger = ledger
        self._chosen = set(threads)
        self._unused = {
            op: frozenset(range(len(leaves(op.result.type)))) - used
            for op, used in used_leaves(launch.kernel).items()
        }
        self._barriers = np.zeros(-(-launch.threads // launch.block_dim), np.int64)

    def begin_interval(self, blocks: Lanes) -> None:
        self._barriers[blocks] += 1

    def _touches(
        self, part: Accessed, threads: Lanes, places: Lanes
    ) -> Iterator[tuple[int, Touch]]:
        number = self._launch.ids[part.op]
        for row, (thread, place) in enumerate(
            zip(threads.tolist(), places[:, 0].tolist(), strict=True)
        ):
            if thread in self._chosen:
                who = thread, int(self._barriers[thread // self._launch.block_dim])
                yield row, self._ledger.enter((self._parameter, place), who, number)

    def read(self, part: Accessed, threads: Lanes, places: Lanes) -> Mask:
        if part.leaf not in self._unused.get(part.op, ()):
            for _, touch in self._touches(part, threads, places):
                touch.read = True
        return np.zeros(len(threads), bool)

    def update(self, part: Accessed, threads: Lanes, places: Lanes) -> Mask:
        for _, touch in self._touches(part, threads, places):
            touch.atomic = True
        return np.zeros(len(threads), bool)

    def write(
        self, part: Accessed, threads: Lanes, places: Lanes, before: Lanes, new: Lanes
    ) -> Mask:
        for row, touch in self._touches(part, threads, places):
            touch.written = (touch.written or set()) | {new[row].tobytes()}
        return np.zeros(len(threads), bool)


# -- threads ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A result that wrapped: of which op, what it should have been, and what it is."""

    op: int
    exact: int
    found: int


class Observed(Group):
    """A thread under observation: which op runs, and which indices are not exact.

    A number that comes from a result that wrapped has an exact twin, which is computed without
    limits along with it.  Numbers are told by their arrays, which control flow hands on.

    Attributes:
        wraps: by access: the result that wrapped first on the way to an index that is not the exact
            one.
    """

    __slots__ = ("_by_operands", "_computing", "_ledger", "_twins", "_unused", "wraps")

    def __init__(
        self,
        launch: Launch,
        journal: Journal,
        thread: int,
        ledger: Ledger,
        computing: Mapping[Value, Op],
        by_operands: Mapping[int, tuple[int, slice]],
        unused: Mapping[int, Sequence[bool]],
    ) -> None:
        self._unused = unused
        self._computing = computing
        self._ledger = ledger
        self._by_operands = by_operands
        self._twins: dict[int, tuple[Datum, int, Wrapped]] = {}
        self.wraps: dict[int, Wrapped] = {}
        super().__init__(launch, journal, np.array([thread], np.int64))

    @property
    def fuel_left(self) -> int:
        """Loop iterations that are left for the threads to come."""
        return self._fuel

    def read(self, values: Iterable[Value]) -> list[Datum]:
        """As that of all groups; the operands of an access tell which one it is."""
        data = super().read(values)
        found = self._by_operands.get(id(values))
        if found is not None:
            number, places = found
            self._ledger.op = number
            self._ledger.ignored = list(self._unused.get(number, ()))
            for index in data[places]:
                if id(index) in self._twins:
                    self.wraps.setdefault(number, self._twins[id(index)][2])
        return data

    def bind(self, values: Iterable[Value], data: Iterable[Datum]) -> None:
        """As that of all groups; gives results their exact twins where they differ."""
        given = tuple(data)
        names = tuple(values)
        super().bind(names, given)
        if len(names) == 1 and names[0] in self._computing:
            self._compare(self._computing[names[0]], given[0])

    def _compare(self, op: Op, result: Datum) -> None:
        operands = super().read(op.operands)
        twins = [self._twins.get(id(x)) for x in operands]
        numbers = (_integer(x) if t is None else t[1] for x, t in zip(operands, twins, strict=True))
        bits = op.result.type.bits if isinstance(op.result.type, Scalar) else 0
        exact = _EXACT[op.name](bits, *numbers)
        found = _integer(result)
        if exact == found:
            self._twins.pop(id(result), None)
            return
        wrapped = next((twin[2] for twin in twins if twin is not None), None)
        if wrapped is None:
            wrapped = Wrapped(self.launch.ids[op], exact, found)
        self._twins[id(result)] = result, exact, wrapped  # kept alive, so that its id is its own


def _integer(data: Datum) -> int:
    assert isinstance(data, np.ndarray)
    return int(data[0])


def _truncated(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_EXACT: Mapping[str, Callable[..., int]] = {
    "iadd": lambda _, a, b: a + b,
    "isub": lambda _, a, b: a - b,
    "imul": lambda _, a, b: a * b,
    "ineg": lambda _, a: -a,
    "idiv": lambda _, a, b: _truncated(a, b),
    "irem": lambda _, a, b: a - b * _truncated(a, b) if b else 0,
    "shl": lambda bits, a, b: a << (b % bits),
    "ashr": lambda bits, a, b: a >> (b % bits),
    "iand": lambda _, a, b: a & b,
    "ior": lambda _, a, b: a | b,
    "ixor": lambda _, a, b: a ^ b,
    "inot": lambda _, a: ~a,
    "sext": lambda _, a: a,
    "smin": lambda _, a, b: min(a, b),
    "smax": lambda _, a, b: max(a, b),
    "select": lambda _, c, a, b: a if c else b,
}
"""Signed results without limits; the first argument is how many bits they have.  Those of other ops
are what the machine gives.
"""

# -- running ---------------------------------------------------------------------------------------


def observe(
    kernel: Kernel, launch: Launch, threads: Iterable[int], ledger: Ledger
) -> Iterator[tuple[int, Journal, Observed]]:
    """Run threads one after another, each to its end; what they touch goes into a ledger.

    Threads for which there is no fuel left do not run.
    """
    watched = [_watch(a, k, ledger) for k, a in enumerate(launch.arguments)]
    launch = replace(launch, arguments=tuple(watched))
    ids = op_ids(kernel)
    by_operands = {
        id(op.operands): (ids[op], _indices(op))
        for op in walk(kernel.body)
        if op.name in MEMORY or op.name == "subview"
    }
    computing = {op.results[0]: op for op in walk(kernel.body) if op.name in _EXACT and _counts(op)}
    unused = {ids[op]: _unused(op, leaves) for op, leaves in used_leaves(kernel).items()}
    for thread in threads:
        journal = Journal(unchecked=False, stop_on_fault=False)
        ledger.thread = thread
        group = Observed(launch, journal, thread, ledger, computing, by_operands, unused)
        if not _ends(group):
            return
        launch = replace(launch, fuel=group.fuel_left)
        yield thread, journal, group


def observe_blocks(launch: Launch, threads: Sequence[int], ledger: Ledger) -> Fault | None:
    """Run all threads in step; what those in ``threads`` do to arguments goes into a ledger.

    Gives the fault of the lowest thread that has one.
    """
    journal = Journal(unchecked=False, stop_on_fault=False)
    group = Group(launch, journal, np.arange(launch.threads))
    for k, data in enumerate(launch.arguments):
        for parameter, part in _numbered(data, k):
            if isinstance(part, ArrayValue):
                group.watched += [
                    _InBlocks(m, parameter, launch, threads, ledger) for m in part.memories
                ]
    run_grid(group)
    return journal.fault


def _ends(group: Observed) -> bool:
    """Run a thread; does it end before the fuel does?"""
    try:
        run_thread(group)
    except HealdError as error:
        if error.codes != ("H0708",):
            raise
        return False
    return True


def _unused(op: Op, used: frozenset[int]) -> list[bool]:
    """For each leaf of a load, the last one first: is it of no interest?"""
    return [k not in used for k in range(len(leaves(op.result.type)))][::-1]


def _indices(op: Op) -> slice:
    """Which operands of an access or a view are indices."""
    array = op.operands[0].type
    assert isinstance(array, Array)
    return slice(1, 1 + array.ndim if op.name in MEMORY else None)


def _counts(op: Op) -> bool:
    t = op.results[0].type
    return isinstance(t, Scalar) and t.kind == "i"


def _numbered(data: Datum, number: int) -> Iterator[tuple[int, Part]]:
    """The leaves of an argument, each with a number of its own."""
    if isinstance(data, tuple):
        yield from ((number * 1000 + k, part) for k, part in enumerate(data))
    else:
        yield number, data


def _watch(data: Datum, number: int, ledger: Ledger) -> Datum:
    parts = tuple(_watch_part(part, n, ledger) for n, part in _numbered(data, number))
    return parts if isinstance(data, tuple) else parts[0]


def _watch_part(data: Part, number: int, ledger: Ledger) -> Part:
    if not isinstance(data, ArrayValue):
        return data
    memories = tuple(_Watched(m.buffer, m.written, number, ledger) for m in data.memories)
    return replace(data, memories=memories)


def conflict(a: Touch, b: Touch) -> bool:
    """Does one write plainly, or change atomically, what the other one touches plainly?"""
    if a.written and b.written and not (a.read or b.read or a.atomic or b.atomic):
        return len(a.written | b.written) > 1  # the same value twice is benign
    plain = [touch.read or bool(touch.written) for touch in (a, b)]
    if a.written or b.written:
        return True
    return (a.atomic and plain[1]) or (b.atomic and plain[0])
