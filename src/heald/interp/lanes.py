"""A launch, and the lanes of it that run together."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from heald.artifact import FaultKind
from heald.diagnostics import Diagnostic, HealdError, InternalError, LaunchError
from heald.interp.faults import Journal
from heald.interp.memory import Lanes, Memory
from heald.interp.resources import Resources
from heald.interp.values import Datum, Mask, Part, from_argument
from heald.ir import MEMORY, Kernel, Op, Value, op_ids, walk
from heald.passes.meetings import meetings_of, shares_block

if TYPE_CHECKING:
    from heald.interp.shared import Watcher

MAX_RANK = 4
_BESIDE_GUARDS = (FaultKind.UNINITIALISED, FaultKind.RACE)
"""What an access is checked for whether its index was proved to be inside or not."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything about a launch that does not change while it runs.

    Attributes:
        kernel: what runs.
        dims: extents of the launch, four of them, unused ones 1.
        arguments: values of the parameters.
        block_dim: threads of a block.
        resources: the resource table.
        fuel: loop iterations that lanes which run together may take.
        ids: id of every op.
        used: values that some op reads.
        meetings: loops in which threads of a ``block`` or of a ``warp`` meet.
        shares: threads of a block meet or share memory, so blocks are kept together.
    """

    kernel: Kernel
    dims: tuple[int, ...]
    arguments: tuple[Datum, ...]
    block_dim: int
    resources: Resources
    fuel: int
    ids: Mapping[Op, int]
    used: frozenset[Value]
    meetings: Mapping[Op, str]
    shares: bool

    @property
    def threads(self) -> int:
        """How many threads there are."""
        return prod(self.dims)

    @property
    def step(self) -> int:
        """Threads from one lane to the next: lanes are threads, or in a program of whole blocks
        blocks."""
        return self.block_dim if self.kernel.attrs.get("blocks") is True else 1


def prepare(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[object],
    block_dim: int,
    resources: Resources | None,
    fuel: int,
) -> Launch:
    """Check a launch and bring its arguments into the interpreter's form.

    Raises:
        LaunchError: dims, block size or arguments do not suit the kernel.
    """
    extents = _check_dims(kernel, dims, block_dim)
    if len(args) != len(kernel.params):
        raise LaunchError(
            Diagnostic(
                "H0701", f"{kernel.name} takes {len(kernel.params)} arguments, not {len(args)}"
            )
        )
    arguments = tuple(
        from_argument(p.type, a, kernel.name_of(p) or str(k))
        for k, (p, a) in enumerate(zip(kernel.params, args, strict=True))
    )
    used: set[Value] = set()
    for op in walk(kernel.body):
        used.update(op.operands)
    return Launch(
        kernel,
        extents,
        arguments,
        block_dim,
        resources or {},
        fuel,
        op_ids(kernel),
        frozenset(used),
        meetings_of(kernel),
        shares_block(kernel),
    )


def _check_dims(kernel: Kernel, dims: Sequence[int], block_dim: int) -> tuple[int, ...]:
    extents = tuple(operator.index(d) for d in dims)
    if not kernel.rank <= len(extents) <= MAX_RANK or any(d < 0 for d in extents):
        least = f"{kernel.rank} to {MAX_RANK}" if kernel.rank else f"up to {MAX_RANK}"
        raise LaunchError(
            Diagnostic("H0706", f"{kernel.name} takes {least} launch extents >= 0, not {extents}")
        )
    if prod(extents) >= 1 << 63:
        raise LaunchError(Diagnostic("H0706", f"{extents} are more threads than 64 bits can count"))
    if block_dim < 1:
        raise LaunchError(Diagnostic("H0706", f"block_dim is positive, not {block_dim}"))
    return extents + (1,) * (MAX_RANK - len(extents))


class Group:
    """Lanes that run together: which threads they are, what they hold, who has faulted.

    Attributes:
        launch: what runs.
        journal: the faults and print records of the whole run.
        threads: linear thread index of each lane, ascending.
        everyone: the mask of all lanes; masks are never changed in place.
        faulted: lanes that have faulted.
        sequence: print records that each lane has made.
        watched: memories whose accesses somebody watches, such as shared arrays.
        history: where lanes are blocks, which of their threads have faulted or printed: whether,
            and how often.
    """

    __slots__ = (
        "_active",
        "_env",
        "_fuel",
        "everyone",
        "faulted",
        "history",
        "journal",
        "launch",
        "sequence",
        "threads",
        "watched",
    )

    def __init__(self, launch: Launch, journal: Journal, threads: Lanes) -> None:
        self.launch = launch
        self.journal = journal
        self.threads = threads
        self.everyone: Mask = np.ones(len(threads), bool)
        self.faulted: Mask = np.zeros(len(threads), bool)
        self.sequence = np.zeros(len(threads), np.int64)
        self.watched: list[Watcher] = []
        self.history: dict[int, tuple[bool, int]] = {}
        self._fuel = launch.fuel
        self._env: dict[Value, Datum] = {}
        self._active: tuple[Mask, Lanes] = self.everyone, np.arange(len(threads))
        self.bind(launch.kernel.params, launch.arguments)

    def __len__(self) -> int:
        return len(self.threads)

    def watcher_of(self, memory: Memory) -> Watcher | None:
        """Who watches a memory."""
        return next((w for w in self.watched if w.memory is memory), None)

    def bind(self, values: Iterable[Value], data: Iterable[Datum]) -> None:
        """Give values their data."""
        self._env.update(zip(values, data, strict=True))

    def read(self, values: Iterable[Value]) -> list[Datum]:
        """The data of values."""
        return [self._env[v] for v in values]

    def active(self, mask: Mask) -> Lanes:
        """Positions of the lanes of a mask, ascending."""
        if self._active[0] is not mask:
            self._active = mask, np.flatnonzero(mask)
        return self._active[1]

    def fault(
        self,
        op: Op,
        kind: FaultKind,
        lanes: Lanes,
        index: Sequence[Lanes] = (),
        shape: Sequence[Lanes] = (),
    ) -> None:
        """Lanes fail a check of ``op``; ``index`` and ``shape`` are uniform or have an entry each.

        Raises:
            InternalError: the op was proved not to fail.  Lanes that have faulted before count too,
                as compiled code does not check the op for them either.
        """
        if op.attrs.get("guard") is False and kind not in _BESIDE_GUARDS:
            is_access = op.name in MEMORY or op.name == "subview"
            if not (is_access and self.journal.unchecked):
                raise InternalError(
                    f"{op.name} (op {self.launch.ids[op]}) at {op.span} was proved not to fail, "
                    f"but does in thread {self.threads[lanes[0]]} ({kind.name})"
                )
        fresh = ~self.faulted[lanes]
        if not fresh.any():
            return
        first = int(np.argmax(fresh))
        self.faulted[lanes] = True
        self.journal.record(
            self.launch.ids[op],
            kind,
            self.threads[lanes[fresh]],
            [x if x.size == 1 else x[first:] for x in index],
            [x if x.size == 1 else x[first:] for x in shape],
        )

    def spend(self, op: Op) -> None:
        """Pay for one iteration of a loop.

        Raises:
            HealdError: there is no fuel left.
        """
        if not self._fuel:
            name, fuel = self.launch.kernel.name, self.launch.fuel
            raise HealdError(
                Diagnostic(
                    "H0708",
                    f"{name} did not end within {fuel} loop iterations",
                    op.span,
                    hint="a loop that never ends? if it is just long, allow more with fuel=...",
                )
            )
        self._fuel -= 1


def is_uniform(parts: Iterable[Part]) -> bool:
    """Do all lanes share these scalars?"""
    return all(isinstance(p, np.ndarray) and p.size == 1 for p in parts)


def only(data: Datum) -> Lanes:
    """A datum that is known to be a scalar."""
    if not isinstance(data, np.ndarray):
        raise InternalError(f"a scalar is needed, not {type(data).__name__}")
    return data
