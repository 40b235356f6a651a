"""Replays: does a launch that the prover suspects really go wrong?

The chosen threads, or all where they are few, run one after another in the reference interpreter,
each to its end, under observation: faults, results that wrapped, and which bytes each thread
touched.  Two threads that touch one byte, one of them writing, race whatever order they take, as
nothing in a launch without barriers orders them.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from heald.artifact import Fault, FaultKind, Symbol
from heald.diagnostics import HealdError, InternalError
from heald.driver.observing import Ledger, conflict, observe, observe_blocks
from heald.driver.promised import ends_of, first_broken, sizes_of
from heald.interp import ArrayView, run
from heald.interp.lanes import prepare
from heald.interp.machine import chunk_size
from heald.interp.memory import c_strides
from heald.ir import Kernel, op_ids
from heald.ops import CLAIMS, PROMISES, role_of
from heald.passes.contracts import assert_roles
from heald.passes.meetings import shares_block
from heald.proof import Content, Suspect
from heald.proof.contracts import NOTHING, Promises
from heald.types import Array, Element, Leaf, Scalar, leaf_offsets, leaves, size_of

FUEL = 3_000
"""Loop iterations of all threads of a replay together."""
_DENSE = 1 << 24
_SPARSE = 1 << 40
_MOST_THREADS = 512
_MOST_IN_BLOCKS = 1 << 14
_MOST_TOUCHES = 1024
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
        other: id of the second op of a race, or of the access whose index is not exact, else -1.
        parameter: which parameter's memory, and at which byte, for a race; else -1.
        index: of a fault out of bounds.
        shape: what the index was checked against.
        exact: what an op that wrapped should have given, and ``wrapped`` what it gave; or what was
            stored against a contract.
        together: whether threads that race are of one block and could wait for each other.
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
    together: bool = False


class TooLarge(HealdError):
    """A launch that does not fit into this process."""


# -- arguments -------------------------------------------------------------------------------------


@np.errstate(over="ignore")  # a number that is too large is infinite, as where kernels get it
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
    """The same case with memory and floats written down, where it was filled at random.

    Large arrays are not: they hold zeros, but for the contents that the case tells.
    """
    if not case.fill:
        return case
    memory, floats = dict(case.memory), []
    arguments = arguments_of(kernel, case)
    for number, parameter in enumerate(kernel.params):
        for k, leaf in enumerate(leaves(parameter.type)):
            if isinstance(leaf, Array):
                buffer = view_of(arguments, number, k).buffer
                if len(buffer) <= _DENSE:
                    memory[number, k] = buffer.tobytes()
            elif not leaf.is_integer:
                argument = arguments[number]
                part = argument[k] if isinstance(argument, tuple) else argument
                floats.append((number, k, float(part)))  # type: ignore[arg-type]
    return replace(case, fill=0, memory=tuple(memory.items()), floats=tuple(floats))


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
    ledger = Ledger()
    found: list[Misbehaviour] = []
    faulted: set[int] = set()
    with np.errstate(all="ignore"):
        for thread, journal, group in observe(kernel, launch, _threads(case.suspect), ledger):
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
                        wrapped.op,
                        (place,),
                        other=access,
                        exact=str(wrapped.exact),
                        wrapped=str(wrapped.found),
                    )
                    for access, wrapped in group.wraps.items()
                ]
    found += _races(ledger, faulted, case.suspect.dims, block)
    if case.promises:
        found += _broken(case, arguments, ledger)
    return found


def _run_blocks(
    kernel: Kernel, case: Case, roles: Mapping[int, str], fuel: int
) -> list[Misbehaviour]:
    """Run the threads of blocks in step; gives the fault of the lowest thread that has one, else
    the races in arguments.
    """
    block = dict(case.suspect.numbers).get(Symbol("block"), _BLOCK)
    if prod(case.suspect.dims) > _MOST_IN_BLOCKS:
        return []
    arguments = arguments_of(kernel, case)
    launch = prepare(kernel, case.suspect.dims, arguments, block, None, fuel)
    ledger = Ledger()
    if launch.threads <= chunk_size(kernel):
        with np.errstate(all="ignore"):
            fault = observe_blocks(launch, _threads(case.suspect), ledger)
    else:
        outcome = run(kernel, case.suspect.dims, arguments, block_dim=block, fuel=fuel)
        fault = next(iter(outcome.faults), None)
    if fault is not None:
        role = roles.get(fault.op, "")
        if role in PROMISES:
            return []
        place = _coordinates(fault.thread, case.suspect.dims)
        return [_fault(fault, place, "contracts" if role else "")]
    found = _races(ledger, set(), case.suspect.dims, block, shared=True)
    if case.promises:
        found += _broken(case, arguments, ledger)
    return found


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


def _races(
    ledger: Ledger, faulted: set[int], dims: Sequence[int], block: int, *, shared: bool = False
) -> list[Misbehaviour]:
    """Threads that meet in a number; ``shared`` says that they run in blocks, and barriers order
    those of one block.
    """
    found: dict[tuple[int, int], Misbehaviour] = {}
    for (parameter, _), by_thread in ledger.numbers.items():
        touches = [(who, touch) for who, touch in by_thread.items() if who[0] not in faulted]
        if not any(touch.written or touch.atomic for _, touch in touches):
            continue
        for k, ((first, before), a) in enumerate(touches[:_MOST_TOUCHES]):
            for (second, after), b in touches[k + 1 : _MOST_TOUCHES]:
                if first == second or (before != after and first // block == second // block):
                    continue
                ops = min(a.op, b.op), max(a.op, b.op)
                if ops not in found and conflict(a, b):
                    threads = _coordinates(first, dims), _coordinates(second, dims)
                    together = shared and first // block == second // block
                    found[ops] = Misbehaviour(
                        "races", a.op, threads, b.op, parameter, together=together
                    )
    return list(found.values())


def _broken(case: Case, arguments: Sequence[object], ledger: Ledger) -> list[Misbehaviour]:
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
                (thread, _), touch = writers[-1]
                place = _coordinates(thread, case.suspect.dims)
                stored = str(cells[index])
                found.append(
                    Misbehaviour(
                        "contracts", touch.op, (place,), -1, parameter, index, exact=stored
                    )
                )
                break
    return found
