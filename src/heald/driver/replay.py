"""Replays: does a launch that the prover suspects really go wrong?

The chosen threads, or all where they are few, run one after another in the reference interpreter,
each to its end, under observation: faults, results that wrapped, and which bytes each thread
touched.  Two threads that touch one byte, one of them writing, race whatever order they take, as
nothing in a launch without barriers orders them.
"""

from __future__ import annotations

import mmap
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from heald.artifact import Fault, FaultKind, Symbol
from heald.diagnostics import HealdError, InternalError
from heald.driver.promised import ends_of, first_broken, sizes_of
from heald.interp import ArrayView, run
from heald.interp.faults import Journal
from heald.interp.lanes import Group, Launch, prepare
from heald.interp.memory import ArrayValue, Lanes, Memory, c_strides
from heald.interp.serial import run_thread
from heald.interp.values import Datum
from heald.ir import MEMORY, Kernel, Op, Value, op_ids, walk
from heald.ops import CLAIMS, PROMISES, role_of
from heald.passes.contracts import assert_roles
from heald.passes.meetings import shares_block
from heald.proof import Content, Suspect, used_leaves
from heald.proof.contracts import NOTHING, Promises
from heald.types import Array, Element, Leaf, Scalar, leaf_offsets, leaves, size_of

FUEL = 3_000
"""Loop iterations of all threads of a replay together."""
_DENSE = 1 << 24
_SPARSE = 1 << 40
_MOST_THREADS = 512
_MOST_IN_BLOCKS = 1 << 14
_BLOCK = 256
_MOST_BYTES = 1 << 20
_NO_RESERVE = 0x4000  # MAP_NORESERVE, which older Pythons do not name

PROPERTY_OF = {
    FaultKind.BOUNDS: "bounds",
    FaultKind.DIVISION: "division",
    FaultKind.STEP: "division",
    FaultKind.ASSERT: "assertions",
    FaultKind.HANDLE: "handles",
    FaultKind.UNINITIALISED: "initialised",
    FaultKind.DIVERGENCE: "divergence",
    FaultKind.RACE: "races",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A launch to replay, complete: sizes, arguments, contents, and the threads to watch.

    Attributes:
        suspect: what matters of it.
        fill: what the rest of memory and floats are: 0 for zeros, 1 for ones, 2 for minus ones,
            else a seed.
        memory: bytes of array leaves of parameters, which win over ``fill`` and contents.
        floats: by-value floats, as parameter, leaf and number.
        promises: contracts, which memory keeps and threads have to keep.
    """

    suspect: Suspect
    fill: int = 0
    memory: tuple[tuple[tuple[int, int], bytes], ...] = ()
    floats: tuple[tuple[int, int, float], ...] = ()
    promises: Promises = NOTHING


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """What a replay saw.

    Attributes:
        aspect: which property it breaks.
        op: id of the op.
        threads: launch indices, two for a race.
        other: id of the second op of a race, else -1.
        parameter: which parameter's memory, and at which byte, for a race; else -1.
        index: of a fault out of bounds.
        shape: what the index was checked against.
        exact: what an op that wrapped should have given, and ``wrapped`` what it gave; or what was
            stored against a contract.
        executed: ids of accesses that the thread of an op that wrapped came to.
    """

    aspect: str
    op: int
    threads: tuple[tuple[int, ...], ...]
    other: int = -1
    parameter: int = -1
    index: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    exact: str = ""
    wrapped: str = ""
    executed: tuple[int, ...] = ()


class TooLarge(HealdError):
    """A launch that does not fit into this process."""


# -- memory ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Touch:
    """What one thread did to a number in memory."""

    op: int
    read: bool = False
    atomic: bool = False
    written: set[bytes] | None = None


class _Ledger:
    """Who touched which number.

    Arguments do not overlap and are accessed leaf by leaf, so an address and its memory tell
    numbers apart.  ``ignored`` counts down the leaves of a load: those that are not used are not
    entered.
    """

    def __init__(self) -> None:
        self.thread = 0
        self.op = -1
        self.ignored: list[bool] = []
        self.numbers: dict[tuple[int, int], dict[int, _Touch]] = {}

    def touch(self, parameter: int, address: Lanes) -> _Touch:
        by_thread = self.numbers.setdefault((parameter, int(address[0])), {})
        found = by_thread.get(self.thread)
        if found is None:
            found = by_thread[self.thread] = _Touch(self.op)
        found.op = self.op
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Watched(Memory):
    """Memory that enters every access into a ledger; ``busy`` while it writes."""

    parameter: int = 0
    ledger: _Ledger = field(default_factory=_Ledger)
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


# -- threads ---------------------------------------------------------------------------------------


class _Observed(Group):
    """A thread under observation: which op runs, and which results wrapped."""

    __slots__ = ("_by_operands", "_ledger", "_unused", "_watch", "executed", "wraps")

    def __init__(
        self,
        launch: Launch,
        journal: Journal,
        thread: int,
        ledger: _Ledger,
        watch: Mapping[Value, Op],
        by_operands: Mapping[int, int],
        unused: Mapping[int, Sequence[bool]],
    ) -> None:
        self._unused = unused
        self._watch = watch
        self._ledger = ledger
        self._by_operands = by_operands
        self.wraps: dict[int, tuple[int, int]] = {}
        self.executed: set[int] = set()
        super().__init__(launch, journal, np.array([thread], np.int64))

    @property
    def fuel_left(self) -> int:
        """Loop iterations that are left for the threads to come."""
        return self._fuel

    def read(self, values: Iterable[Value]) -> list[Datum]:
        number = self._by_operands.get(id(values))
        if number is not None:
            self._ledger.op = number
            self._ledger.ignored = list(self._unused.get(number, ()))
            self.executed.add(number)
        return super().read(values)

    def bind(self, values: Iterable[Value], data: Iterable[Datum]) -> None:
        given = tuple(data)
        names = tuple(values)
        super().bind(names, given)
        if len(names) == 1 and names[0] in self._watch:
            op = self._watch[names[0]]
            operands = [_integer(x) for x in super().read(op.operands)]
            exact, found = _EXACT[op.name](*operands), _integer(given[0])
            number = self.launch.ids[op]
            if exact != found and number not in self.wraps:
                self.wraps[number] = exact, found


def _integer(data: Datum) -> int:
    assert isinstance(data, np.ndarray)
    return int(data[0])


def _truncated(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_EXACT: Mapping[str, Callable[..., int]] = {
    "iadd": operator.add,
    "isub": operator.sub,
    "imul": operator.mul,
    "ineg": operator.neg,
    "idiv": _truncated,
    "shl": lambda a, b: a << (b % 64),
}


# -- arguments -------------------------------------------------------------------------------------


def arguments_of(kernel: Kernel, case: Case) -> list[object]:
    """The arguments of a case, fresh memory included.

    Raises:
        TooLarge: an array does not fit.
    """
    numbers = dict(case.suspect.numbers)
    random = np.random.default_rng(case.fill)
    found: list[object] = []
    for number, parameter in enumerate(kernel.params):
        own = leaves(parameter.type)
        parts = [_argument(leaf, number, k, numbers, case, random) for k, leaf in enumerate(own)]
        found.append(parts[0] if own == (parameter.type,) else tuple(parts))
    for content in case.suspect.contents:
        _place(found, content)
    for (number, k), data in case.memory:
        buffer = view_of(found, number, k).buffer
        if len(buffer) != len(data):
            raise TooLarge(f"argument {number} has {len(buffer)} bytes, not {len(data)}")
        buffer[:] = np.frombuffer(data, np.uint8)
    return found


def freeze(kernel: Kernel, case: Case) -> Case:
    """The same case with memory and floats written down, where it was filled at random."""
    if not case.fill:
        return case
    memory, floats = [], []
    arguments = arguments_of(kernel, case)
    for number, parameter in enumerate(kernel.params):
        for k, leaf in enumerate(leaves(parameter.type)):
            if isinstance(leaf, Array):
                memory.append(((number, k), view_of(arguments, number, k).buffer.tobytes()))
            elif not leaf.is_integer:
                argument = arguments[number]
                part = argument[k] if isinstance(argument, tuple) else argument
                floats.append((number, k, float(part)))  # type: ignore[arg-type]
    return replace(case, fill=0, memory=tuple(memory), floats=tuple(floats))


def view_of(arguments: Sequence[object], number: int, k: int) -> ArrayView:
    """An array among the arguments of a case, by parameter and leaf."""
    argument = arguments[number]
    view = argument[k] if isinstance(argument, tuple) else argument
    assert isinstance(view, ArrayView)
    return view


def _argument(
    t: Leaf,
    number: int,
    k: int,
    numbers: Mapping[Symbol, int],
    case: Case,
    random: np.random.Generator,
) -> object:
    if isinstance(t, Array):
        shape = tuple(numbers.get(Symbol("shape", number, k, axis), 0) for axis in range(t.ndim))
        view = _allocate(t.dtype, shape)
        if case.fill:
            _fill(view, case.fill, random, max((*shape, *case.suspect.dims)))
        return view
    if t.is_integer:
        return numbers.get(Symbol("value", number, k), 0)
    for parameter, position, value in case.floats:
        if (parameter, position) == (number, k):
            return t.carrier.type(value)
    return _random_number(t, random) if case.fill else t.carrier.type(0)


def _allocate(dtype: Element, shape: tuple[int, ...]) -> ArrayView:
    size = prod(shape) * size_of(dtype)
    if size <= _DENSE:
        return ArrayView.allocate(dtype, shape)
    if size > _SPARSE:
        raise TooLarge(f"an array of {size} bytes")
    try:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        memory = mmap.mmap(-1, size, flags=flags)  # pages appear when they are touched
    except (OSError, ValueError, AttributeError) as error:
        raise TooLarge(f"an array of {size} bytes: {error}") from None
    buffer = np.frombuffer(memory, np.uint8)
    return ArrayView(buffer, 0, shape, c_strides(dtype, shape), dtype)


def _fill(view: ArrayView, fill: int, random: np.random.Generator, size: int) -> None:
    if len(view.buffer) > _DENSE or 0 in view.shape:
        return
    for k, leaf in enumerate(leaves(view.dtype)):
        assert isinstance(leaf, Scalar)
        cells = view.leaf(k)
        if leaf.is_integer:
            low, high = max(leaf.lowest, -1), min(leaf.highest, size + 1)
            cells[...] = random.integers(low, high, cells.shape, endpoint=True)
        elif leaf.is_float and leaf.carrier.kind == "f":
            cells[...] = _SAME.get(fill) or random.choice(_FLOATS, cells.shape)
        else:
            cells[...] = random.integers(0, 2, cells.shape)


_SAME = {1: 1.0, 2: -1.0}
_FLOATS = np.array([0.0, 1.0, -1.0, 0.5, 2.5, -3.0, 100.0, -100.0, 1e6, 3.0])


def _random_number(t: Scalar, random: np.random.Generator) -> Any:
    return t.carrier.type(random.choice(_FLOATS) if t.is_float else random.integers(0, 2))


def _place(arguments: Sequence[object], content: Content) -> None:
    view = view_of(arguments, content.parameter, content.leaf)
    inside = all(0 <= i < n for i, n in zip(content.index, view.shape, strict=True))
    if not inside:
        return
    leaf = leaves(view.dtype)[content.element_leaf]
    assert isinstance(leaf, Scalar)
    start = view.offset + leaf_offsets(view.dtype)[content.element_leaf]
    start += sum(i * s for i, s in zip(content.index, view.strides, strict=True))
    number = np.array([content.value]).astype(leaf.carrier)
    view.buffer[start : start + size_of(leaf)] = number.view(np.uint8)


# -- running ---------------------------------------------------------------------------------------


def replay(kernel: Kernel, case: Case, *, fuel: int = FUEL) -> list[Misbehaviour]:
    """Run a case; gives what was seen to go wrong, nothing where nothing did.

    Threads for which there is no ``fuel`` left do not run.  A case in which a promise of the body
    is broken says nothing: nothing is seen.

    Raises:
        HealdError: the interpreter cannot run the kernel.
    """
    roles = {n: role_of(op) for op, n in op_ids(kernel).items() if op.name == "assume"}
    promised = any(role in PROMISES for role in roles.values())
    if promised and prod(case.suspect.dims) > _MOST_THREADS:
        return []  # not all threads would run
    found = _run(assert_roles(kernel, PROMISES), case, roles, fuel)
    if any(role in CLAIMS for role in roles.values()):
        broken = _run(assert_roles(kernel, PROMISES | CLAIMS), case, roles, fuel)
        found += [m for m in broken if m.aspect == "contracts" and m not in found]
    return found


def _run(kernel: Kernel, case: Case, roles: Mapping[int, str], fuel: int) -> list[Misbehaviour]:
    """Run a kernel in which conditions are assertions; ``roles`` are those that they had."""
    if shares_block(kernel):
        return _run_blocks(kernel, case, roles, fuel)
    arguments = arguments_of(kernel, case)
    block = dict(case.suspect.numbers).get(Symbol("block"), _BLOCK)
    launch = prepare(kernel, case.suspect.dims, arguments, block, None, fuel)
    ledger = _Ledger()
    watched = [_watch(a, k, ledger) for k, a in enumerate(launch.arguments)]
    launch = replace(launch, arguments=tuple(watched))
    ids = op_ids(kernel)
    by_operands = {id(op.operands): ids[op] for op in walk(kernel.body) if op.name in MEMORY}
    watch = {op.results[0]: op for op in walk(kernel.body) if op.name in _EXACT and _counts(op)}
    unused = {ids[op]: _unused(op, leaves) for op, leaves in used_leaves(kernel).items()}
    found: list[Misbehaviour] = []
    faulted: set[int] = set()
    with np.errstate(all="ignore"):
        for thread in _threads(case.suspect):
            journal = Journal(unchecked=False, stop_on_fault=False)
            ledger.thread = thread
            group = _Observed(launch, journal, thread, ledger, watch, by_operands, unused)
            if not _ends(group):
                break
            launch = replace(launch, fuel=group.fuel_left)
            place = _coordinates(thread, case.suspect.dims)
            if journal.fault is not None:
                faulted.add(thread)
                role = roles.get(journal.fault.op, "")
                if role in PROMISES:
                    return []
                aspect = "contracts" if role else ""
                found.append(_fault(journal.fault, place, aspect))
            else:
                found += [
                    Misbehaviour(
                        "overflow",
                        op,
                        (place,),
                        exact=str(exact),
                        wrapped=str(wrapped),
                        executed=tuple(sorted(group.executed)),
                    )
                    for op, (exact, wrapped) in group.wraps.items()
                ]
    found += _races(ledger, faulted, case.suspect.dims)
    if case.promises:
        found += _broken(case, arguments, ledger)
    return found


def _run_blocks(
    kernel: Kernel, case: Case, roles: Mapping[int, str], fuel: int
) -> list[Misbehaviour]:
    """Run the threads of blocks in step; gives the fault of the lowest thread that has one."""
    block = dict(case.suspect.numbers).get(Symbol("block"), _BLOCK)
    if prod(case.suspect.dims) > _MOST_IN_BLOCKS:
        return []
    arguments = arguments_of(kernel, case)
    outcome = run(kernel, case.suspect.dims, arguments, block_dim=block, fuel=fuel)
    found = []
    for fault in outcome.faults:
        role = roles.get(fault.op, "")
        if role in PROMISES:
            return []
        place = _coordinates(fault.thread, case.suspect.dims)
        found.append(_fault(fault, place, "contracts" if role else ""))
    return found


def _ends(group: _Observed) -> bool:
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


def _counts(op: Op) -> bool:
    t = op.results[0].type
    return isinstance(t, Scalar) and t.kind == "i"


def _watch(data: Datum, number: int, ledger: _Ledger) -> Datum:
    if isinstance(data, ArrayValue):
        memories = tuple(_Watched(m.buffer, m.written, number, ledger) for m in data.memories)
        return replace(data, memories=memories)
    if isinstance(data, tuple):
        parts = (_watch(part, number * 1000 + k, ledger) for k, part in enumerate(data))
        return tuple(part for part in parts if not isinstance(part, tuple))
    return data


def _threads(suspect: Suspect) -> list[int]:
    """All threads where they are few, else the chosen ones, by linear index."""
    total = prod(suspect.dims)
    if total <= _MOST_THREADS:
        return list(range(total))
    return list(dict.fromkeys(_linear(t, suspect.dims) for t in suspect.threads)) or [0]


def _linear(thread: Sequence[int], dims: Sequence[int]) -> int:
    return reduce(lambda total, pair: total * pair[1] + pair[0], zip(thread, dims, strict=True), 0)


def _coordinates(thread: int, dims: Sequence[int]) -> tuple[int, ...]:
    out = []
    for extent in reversed(dims):
        out.append(thread % extent)
        thread //= extent
    return tuple(reversed(out))


def _fault(fault: Fault, place: tuple[int, ...], aspect: str) -> Misbehaviour:
    kind = aspect or PROPERTY_OF.get(fault.kind)
    if kind is None:
        raise InternalError(f"a fault of kind {fault.kind.name} in a replay")
    return Misbehaviour(kind, fault.op, (place,), index=fault.index, shape=fault.shape)


def _races(ledger: _Ledger, faulted: set[int], dims: Sequence[int]) -> list[Misbehaviour]:
    found: dict[tuple[int, int], Misbehaviour] = {}
    for (parameter, _), by_thread in ledger.numbers.items():
        touches = [(t, touch) for t, touch in by_thread.items() if t not in faulted]
        for k, (first, a) in enumerate(touches):
            for second, b in touches[k + 1 :]:
                ops = min(a.op, b.op), max(a.op, b.op)
                if ops not in found and _conflict(a, b):
                    threads = _coordinates(first, dims), _coordinates(second, dims)
                    found[ops] = Misbehaviour("races", a.op, threads, b.op, parameter)
    return list(found.values())


def _broken(case: Case, arguments: Sequence[object], ledger: _Ledger) -> list[Misbehaviour]:
    """Contracts of arrays that do not hold any more after the launch."""
    found = []
    lookup = sizes_of(case.suspect)
    for promise in case.promises.arrays:
        view = view_of(arguments, promise.parameter, 0)
        if 0 in view.shape:
            continue
        cells = view.leaf(0)
        index = first_broken(promise, cells, ends_of(promise, lookup))
        if index is None:
            continue
        for (parameter, _), by_thread in ledger.numbers.items():
            writers = [(t, x) for t, x in by_thread.items() if x.written or x.atomic]
            if parameter == promise.parameter and writers:
                thread, touch = writers[-1]
                place = _coordinates(thread, case.suspect.dims)
                stored = str(cells[index])
                found.append(
                    Misbehaviour(
                        "contracts", touch.op, (place,), -1, parameter, index, exact=stored
                    )
                )
                break
    return found


def _conflict(a: _Touch, b: _Touch) -> bool:
    """Does one write plainly, or change atomically, what the other one touches plainly?"""
    if a.written and b.written and not (a.read or b.read or a.atomic or b.atomic):
        return len(a.written | b.written) > 1  # the same value twice is benign
    plain = [touch.read or bool(touch.written) for touch in (a, b)]
    if a.written or b.written:
        return True
    return (a.atomic and plain[1]) or (b.atomic and plain[0])
