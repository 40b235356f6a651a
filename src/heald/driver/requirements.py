"""What ``wp.requires`` says of sizes and by-value arguments, looked at before a launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from heald.artifact import FaultKind, Symbol
from heald.diagnostics import Diagnostic, LaunchError, Note
from heald.driver.arguments import Argument, ArrayArgument, look_up
from heald.driver.verify_names import Names
from heald.interp import ArrayView
from heald.interp.faults import Journal
from heald.interp.lanes import Group, prepare
from heald.interp.serial import run_thread
from heald.ir import Effect, Kernel, Op, Region, Value, has_exit, op_ids, walk
from heald.ops import TABLE, role_of
from heald.passes.drop_dead import drop_dead
from heald.types import leaves, size_of

_SIZES = frozenset({"const", "dim", "launch_dim", "block_dim", "compose", "extract", "insert"})
_CHOICES = frozenset({"if", "scope"})
_ENDS = frozenset({"yield", "return"})
_RETURN = frozenset({"return"})


class Requirements:
    """The conditions of a kernel that are the same for all threads of a launch.

    They stand where every thread comes, before any branch that returns, and are computed from
    launch dims, extents of array parameters and by-value arguments.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._source = kernel
        self._found: dict[int, tuple[Op, set[Value], list[Op]]] = {}
        self._kernel = self._sliced()

    def __bool__(self) -> bool:
        return bool(self._found)

    def _sliced(self) -> Kernel:
        """The kernel of which only such conditions are left, as assertions."""
        ids = op_ids(self._source)
        known: set[Value] = set(self._source.params)
        made: dict[Value, Op] = {}
        kept: list[Op] = []
        for op in self._source.body.ops[:-1]:
            if op.name == "assume":
                if role_of(op) == "requires" and op.operands[0] in known:
                    attrs = {"message": op.attrs["message"], "guard": True, "id": ids[op]}
                    kept.append(Op("assert", op.operands, (), attrs, (), op.span))
                    self._found[ids[op]] = op, *_reads(op.operands[0], made)
            elif _is_known(op, known):
                kept.append(op)
                known.update(op.results)
                made.update(dict.fromkeys(op.results, op))
            elif _returns(op):
                break  # not every thread comes further
        last = self._source.body.ops[-1]
        body = Region(self._source.body.args, (*kept, replace(last, operands=())))
        return drop_dead(replace(self._source, body=body))

    def check(
        self, name: str, dims: Sequence[int], arguments: Sequence[Argument], block_dim: int
    ) -> None:
        """Refuse a launch of which a condition does not hold.

        Raises:
            LaunchError: H0717, with the numbers that the condition speaks of.
        """
        if not self or 0 in (prod(dims), block_dim):
            return
        shapes = [_without_contents(argument) for argument in arguments]
        run = prepare(self._kernel, dims, shapes, block_dim, None, fuel=0)
        journal = Journal(unchecked=False, stop_on_fault=False)
        with np.errstate(all="ignore"):
            run_thread(Group(run, journal, np.zeros(1, np.int64)))
        fault = journal.fault
        if fault is None or fault.kind is not FaultKind.ASSERT:
            return
        condition, values, sizes = self._found[fault.op]
        told = dict(self._told(values, sizes, dims, arguments, block_dim))
        notes = (Note(", ".join(f"{what} is {number}" for what, number in told.items())),)
        raise LaunchError(
            Diagnostic(
                "H0717",
                f"{condition.attrs['message']} of kernel '{name}' does not hold of this launch",
                condition.span,
                notes=notes if told else (),
                hint="pass other arguments, or change the condition; nothing has run",
            )
        )

    def _told(
        self,
        values: set[Value],
        sizes: list[Op],
        dims: Sequence[int],
        arguments: Sequence[Argument],
        block_dim: int,
    ) -> Iterator[tuple[str, object]]:
        """Names and numbers of what a condition reads."""
        names = Names(self._source)
        for number, parameter in enumerate(self._source.params):
            for leaf, value in enumerate(arguments[number].leaves):
                if parameter in values and not isinstance(value, ArrayArgument):
                    yield names.argument(number, leaf), value
            for op in sizes:
                if op.name == "dim" and op.operands[0] is parameter:
                    axis = op.attrs["axis"]
                    assert isinstance(axis, int)
                    extent = Symbol("shape", number, 0, axis)
                    yield names.symbol(extent), look_up(arguments, dims, extent)
        if any(op.name == "block_dim" for op in sizes):
            yield "block_dim", block_dim


def _inside(op: Op) -> Iterator[Op]:
    for region in op.regions:
        yield from walk(region)


def _returns(op: Op) -> bool:
    """May the thread return in an op?"""
    return op.name != "scope" and any(has_exit(region, _RETURN) for region in op.regions)


def _is_known(op: Op, known: set[Value]) -> bool:
    """Is an op computed from what is known before a launch?"""
    inner = list(_inside(op))
    own = known.union(*(o.results for o in inner), *(region.args for region in op.regions))
    return (
        _is_plain(op)
        and not _returns(op)
        and all(o.name in _ENDS or _is_plain(o) for o in inner)
        and all(value in own for o in (op, *inner) for value in o.operands)
    )


def _is_plain(op: Op) -> bool:
    """Does an op read nothing but its operands and launch sizes, and do nothing else?"""
    if op.name in _SIZES or op.name in _CHOICES:
        return True
    definition = TABLE.get(op.name)
    if definition is None or definition.arity == 0 or not op.results:
        return False
    return definition.effects in (Effect.PURE, Effect.FAULT)


def _reads(condition: Value, made: dict[Value, Op]) -> tuple[set[Value], list[Op]]:
    """Values that nothing made, and ops that read sizes, on which a condition depends."""
    wanted, values, sizes = [condition], set(), []
    seen: set[Value] = set()
    while wanted:
        value = wanted.pop()
        if value in seen:
            continue
        seen.add(value)
        op = made.get(value)
        if op is None:
            values.add(value)
            continue
        for inner in (op, *_inside(op)):
            wanted += inner.operands
            if inner.name in ("dim", "block_dim"):
                sizes.append(inner)
    return values, sizes


def _without_contents(argument: Argument) -> object:
    """The argument as the interpreter takes it; all elements of an array are one, on the host."""
    if not any(isinstance(leaf, ArrayArgument) for leaf in argument.leaves):
        return argument.simulated()
    parts = [_view(leaf) if isinstance(leaf, ArrayArgument) else leaf for leaf in argument.leaves]
    return parts[0] if leaves(argument.type) == (argument.type,) else tuple(parts)


def _view(array: ArrayArgument) -> ArrayView:
    memory = np.zeros(size_of(array.dtype), np.uint8)
    return ArrayView(memory, 0, array.shape, (0,) * len(array.shape), array.dtype)
