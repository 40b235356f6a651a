"""Values, ops, regions and kernels.  All frozen; no value knows the op that made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from heald.diagnostics import Span
from heald.types import Type

Attr = bool | int | float | str | tuple[int, ...]
"""What an attribute may hold.  Floats print as hexadecimal, so text keeps every bit."""

NO_ATTRS: Mapping[str, Attr] = MappingProxyType({})


class Value:
    """A token: its identity is its meaning.  It knows its type; names live in ``Kernel.names``."""

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type = type

    def __repr__(self) -> str:
        return f"<value of {self.type}>"


_NO_NAMES: Mapping[Value, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation.  ``results`` are defined by it and by nothing else in the kernel."""

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attrs: Mapping[str, Attr] = field(default_factory=lambda: NO_ATTRS)
    regions: tuple[Region, ...] = ()
    span: Span | None = None

    @property
    def result(self) -> Value:
        """The single result."""
        (value,) = self.results
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Arguments and a list of ops of which exactly the last is a terminator."""

    args: tuple[Value, ...]
    ops: tuple[Op, ...]

    @property
    def terminator(self) -> Op:
        """The last op."""
        return self.ops[-1]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kernel:
    """A kernel, or (with ``results``) a function compiled for calls from the host.

    Attributes:
        params: the parameters, in order; their names are in ``names``.
        results: types of what ``return`` at the outermost level carries; empty for kernels.
        rank: how many launch dimensions ``tid`` reads, 0 when it reads none.
        names: for printing only; not part of equality or of the code hash.
        attrs: facts about the whole kernel, such as the width that a pass chose.
    """

    name: str
    params: tuple[Value, ...]
    body: Region
    results: tuple[Type, ...] = ()
    rank: int = 0
    names: Mapping[Value, str] = field(default_factory=lambda: _NO_NAMES)
    attrs: Mapping[str, Attr] = field(default_factory=lambda: NO_ATTRS)
    span: Span | None = None

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {sum(1 for _ in walk(self.body))} ops>"

    def name_of(self, value: Value) -> str:
        """The source name of a value, or an empty string."""
        return self.names.get(value, "")


def walk(region: Region) -> Iterator[Op]:
    """Every op of a region in pre-order."""
    # A stack of its own: a generator in each other would be entered once for each level and op.
    open_regions = [iter(region.ops)]
    while open_regions:
        for op in open_regions[-1]:
            yield op
            if op.regions:
                inner = op.regions
                open_regions.append(
                    iter(inner[0].ops)
                    if len(inner) == 1
                    else chain.from_iterable(r.ops for r in inner)
                )
                break
        else:
            open_regions.pop()


def op_ids(kernel: Kernel) -> dict[Op, int]:
    """The pre-order number of every op; an op that carries an ``id`` attribute keeps that one."""
    ids: dict[Op, int] = {}
    for number, op in enumerate(walk(kernel.body)):
        known = op.attrs.get("id", number)
        assert isinstance(known, int)
        ids[op] = known
    return ids


def has_exit(region: Region, names: frozenset[str]) -> bool:
    """Does an exit with one of these names leave ``region``?

    A loop catches ``break`` and ``continue`` of its body, a scope catches ``return``.
    """
    for op in region.ops:
        if op.name in names:
            return True
        inner = names
        if op.name in ("for", "while"):
            inner = names - {"break", "continue"}
        elif op.name == "scope":
            inner = names - {"return"}
        if any(has_exit(r, inner) for r in op.regions):
            return True
    return False
