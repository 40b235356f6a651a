"""What symbolic execution leaves behind, for the solver to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from heald.artifact import Symbol
from heald.ir import Kernel, Op
from heald.proof.terms import Term, Terms
from heald.types import Scalar

Path = tuple[Term, ...]
"""Conditions under which a thread comes to a place."""


@dataclass(frozen=True, slots=True)
class Root:
    """Memory that array values refer to.

    ``kind`` is ``parameter`` (``key`` is the number of the parameter and of its leaf),
    ``resource`` (the handle, its kind and slot), ``shared`` or ``local`` (which ``alloc``).
    """

    kind: str
    key: tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The index on one axis of a root: ``offset``, plus ``step`` times an index of the view."""

    offset: Term
    step: Term | None = None
    axis: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """An array as a value.

    Attributes:
        root: the memory.
        places: for each axis of the root, how an index of the view leads there.
        extents: of the view.
    """

    root: Root
    places: tuple[Place, ...]
    extents: tuple[Term, ...]


Data = Term | View | tuple["Data", ...]
"""A value: a scalar, an array, or the leaves of a composite."""


Segments = frozenset[int]
"""Numbers of barriers, of which the last one that a thread came to is one; 0 for none."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One way out of a region: where, with what, how many loops are around it, and behind which
    barriers.
    """

    path: Path
    known: Path
    values: tuple[Data, ...]
    depth: int
    segments: Segments = frozenset()


@dataclass(slots=True)
class Targets:
    """Where exits go; lists of those who went there."""

    leave: list[Outcome] = field(default_factory=list)
    again: list[Outcome] = field(default_factory=list)
    out: list[Outcome] = field(default_factory=list)


class Beyond(Exception):
    """Something that symbolic execution does not follow; the kernel is not judged."""

    def __init__(self, op: Op, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class Obligation:
    """Something that must hold wherever a thread comes to it without having faulted before.

    Attributes:
        kind: ``bounds``, ``division``, ``step``, ``assertion``, ``handle``, ``contract``.
        path: where the thread is.
        known: what holds there since nothing failed before.
        goal: what must hold.
        numbers: the index and the extent, or the divisor; for messages and conditions.
        axis: of the array, or -1.
    """

    op: Op
    kind: str
    path: Path
    known: Path
    goal: Term
    numbers: tuple[Term, ...] = ()
    axis: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Indexing:
    """Indices of an access or a view that was found inside."""

    op: Op
    path: Path
    known: Path
    numbers: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """An op that was taken to give its exact result, which must therefore fit its type."""

    op: Op
    path: Path
    known: Path
    exact: Term
    type: Scalar
    goal: Term


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A thread touches an element of global memory.

    Attributes:
        kind: ``read``, ``write`` or ``atomic``.
        root: the memory.
        index: one term for each axis of the root.
        leaf: which leaf of the element, or None for all.
        values: what is written, by leaf.
        result: what was read: the leaves, or the old ones.
        repeats: whether a thread may come here more than once.
        segments: behind which barriers.
    """

    op: Op
    kind: str
    root: Root
    index: tuple[Term, ...]
    leaf: int | None
    path: Path
    known: Path
    values: tuple[Data, ...] = ()
    result: tuple[Term, ...] = ()
    repeats: bool = False
    segments: Segments = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """A barrier of a block, and where a thread is that comes to it."""

    op: Op
    path: Path
    known: Path


@dataclass(frozen=True, slots=True)
class Guess:
    """A relation between numbers that a loop carries, or with numbers from before it.

    ``relation`` is ``at_least``, ``at_most`` or ``less``; ``left`` and ``right`` are positions
    among the carried values, ``right`` may be a number from before the loop instead.
    """

    left: int
    relation: str
    right: int | Term

    def claim(self, terms: Terms, carried: Sequence[Data]) -> Term:
        """What it says of carried values at one place."""
        lhs = carried[self.left]
        rhs = carried[self.right] if isinstance(self.right, int) else self.right
        assert isinstance(lhs, Term)
        assert isinstance(rhs, Term)
        match self.relation:
            case "at_least":
                return terms.at_least(lhs, rhs)
            case "at_most":
                return terms.at_least(rhs, lhs)
            case _:
                return terms.less(lhs, rhs)


class Claims(Protocol):
    """A guess about what a loop carries."""

    def claim(self, terms: Terms, carried: Sequence[Data]) -> Term:
        """What it says of carried values at one place."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A guess on trial.

    Attributes:
        literal: a truth value that says whether the guess is relied on.
        start: where the loop is entered, and what the guess says there.
        steps: the same for every way to the next iteration.
    """

    op: Op
    guess: Claims
    literal: Term
    start: tuple[Path, Term]
    steps: list[tuple[Path, Term]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Promised:
    """A condition in the body that the user vouches for, and where it stands."""

    op: Op
    path: Path
    known: Path
    claim: Term


@dataclass(slots=True)
class Execution:
    """Everything one symbolic execution of the generic thread found.

    Attributes:
        threads: the launch index of the thread, by axis.
        symbols: what the launch knows, by its name in launch conditions.
        turns: unknowns that say how many times 2^bits were taken off the result of an op.
        blocks: ops by which threads of a block communicate.
        sources: the ops that unknowns of the thread come from.
        related: for loop variables, where the loop begins and ends, and its step.
        trips: for loop variables, how many iterations came before, where that is an unknown.
        promised: conditions in the body that the user vouches for.
        meetings: barriers, in the order in which threads come to them.
        place: where the thread is in its block, by name of the op, where that is asked.
        exits: conditions on unknowns of loops that have ended: they hold for every thread that has
            been in the loop, and decide nothing.
        uniform: unknowns that are the same for all threads of a block.
        trusted: arrays whose contents were taken to be as their contracts say.
        tangled: loops in which threads of a block wait for each other, and whose iterations are not
            told apart: where there are any, barriers are taken to order nothing.
    """

    kernel: Kernel
    threads: tuple[Term, ...] = ()
    symbols: dict[Symbol, Term] = field(default_factory=dict)
    obligations: list[Obligation] = field(default_factory=list)
    indexings: list[Indexing] = field(default_factory=list)
    fittings: list[Fitting] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    turns: dict[Term, Op] = field(default_factory=dict)
    blocks: list[Op] = field(default_factory=list)
    sources: dict[Term, Op] = field(default_factory=dict)
    related: dict[Term, tuple[Term, Term, Term]] = field(default_factory=dict)
    trips: dict[Term, Term] = field(default_factory=dict)
    promised: list[Promised] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    place: dict[str, Term] = field(default_factory=dict)
    exits: set[Term] = field(default_factory=set)
    uniform: list[Term] = field(default_factory=list)
    trusted: set[Root] = field(default_factory=set)
    tangled: list[Op] = field(default_factory=list)
