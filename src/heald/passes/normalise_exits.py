"""Structured exits to plain regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from heald.diagnostics import InternalError
from heald.ir import LOOPS, Attr, Kernel, Op, Region, Value, has_exit, walk
from heald.passes.facts import Constants, constants_of, may_have_step_zero
from heald.passes.liveness import carried_args, carried_inits
from heald.passes.rebuild import Rebuild
from heald.types import Type, b1, i32, i64, u64

_LEAVING = frozenset({"break", "continue", "return"})
_STOPPING = frozenset({"break", "return"})

FELL, NEXT, BROKE, RETURNED = -1, 0, 1, 2
"""Status of an outcome: fell through, goes on with the next iteration, left the loop, left the
scope.
"""


def normalise_exits(kernel: Kernel) -> Kernel:
    """Leave nothing but ``if``, ``for``, ``while``, ``yield`` and one ``return`` at the end.

    Before::

        %c = icmp %i, %n [pred="sge"]
        if %c () {
          return
        } () {
          yield
        }
        store %a, %i, %x
        return

    After::

        %c = icmp %i, %n [pred="sge"]
        if %c () {
          yield
        } () {
          store %a, %i, %x
          yield
        }
        return

    A region that can be left yields an *outcome*: a status, then what the loop, the scope and the
    code after the region take; what does not matter is zero.  What follows an ``if`` with exits
    moves into the arm that falls through when the other one never does, else under ``if status ==
    FELL``.  A loop with ``break`` or ``return`` becomes a ``while`` on a status; a ``for`` among
    them counts how far it still has to go in unsigned 64 bits, so it ends exactly where it did, and
    checks its step, where that may be 0, by an empty loop with its id and guard.  A loop with
    ``continue`` only stays what it is.

    Bounds should be proved and guarded before, since this hides the bounds of loops.
    """
    return _Normalise(kernel).run()


@dataclass(frozen=True, slots=True)
class _Way:
    """What can leave the region being rewritten.

    An outcome is (status, what the loop takes, what the scope takes, what follows takes); ``then``
    makes it of what the region yields.
    """

    then: Callable[[tuple[Value, ...]], tuple[Value, ...]]
    loop: tuple[Type, ...] = ()
    scope: tuple[Type, ...] = ()
    fall: tuple[Type, ...] = ()

    @property
    def types(self) -> tuple[Type, ...]:
        return (i32, *self.loop, *self.scope, *self.fall)


def _no_yield(_: tuple[Value, ...]) -> tuple[Value, ...]:
    raise InternalError("a yield where only a return can end the region")


def _types(values: Sequence[Value]) -> tuple[Type, ...]:
    return tuple(v.type for v in values)


class _Normalise:
    """Rewrites op lists from the front, each with what may leave it."""

    def __init__(self, kernel: Kernel) -> None:
        self.build = Rebuild(kernel)
        self._constants = constants_of(kernel)

    def run(self) -> Kernel:
        if self._is_normal(self.build.kernel.body):
            return self.build.kernel
        self.build.open()
        outcome = self._sequence(
            self.build.kernel.body.ops, _Way(then=_no_yield, scope=self.build.kernel.results)
        )
        self.build.emit("return", outcome[1:])
        return self.build.finish(self.build.close())

    @staticmethod
    def _is_normal(body: Region) -> bool:
        gone = _LEAVING | {"scope"}
        last = body.terminator
        return last.name == "return" and all(op.name not in gone or op is last for op in walk(body))

    # -- outcomes ----------------------------------------------------------------------------------

    def _outcome(
        self,
        way: _Way,
        status: int,
        loop: Sequence[Value] | None = None,
        scope: Sequence[Value] | None = None,
        fall: Sequence[Value] | None = None,
    ) -> tuple[Value, ...]:
        """An outcome whose parts that do not matter are zero."""
        parts = [self.build.const(i32, status)]
        for given, types in ((loop, way.loop), (scope, way.scope), (fall, way.fall)):
            parts += given if given is not None else [self.build.zero(t) for t in types]
        return tuple(parts)

    def _sequence(self, ops: Sequence[Op], way: _Way) -> tuple[Value, ...]:
        """Emit ops; gives the outcome at their end."""
        for position, op in enumerate(ops):
            self.build.span = op.span
            match op.name:
                case "yield":
                    return way.then(self.build.get_all(op.operands))
                case "continue":
                    return self._outcome(way, NEXT, loop=self.build.get_all(op.operands))
                case "break":
                    return self._outcome(way, BROKE, loop=self.build.get_all(op.operands))
                case "return":
                    return self._outcome(way, RETURNED, scope=self.build.get_all(op.operands))
                case "unreachable":
                    return self._outcome(way, NEXT)
                case "if" if any(has_exit(r, _LEAVING) for r in op.regions):
                    return self._leaving_if(op, ops[position + 1 :], way)
                case "for" | "while" if has_exit(op.regions[-1], _STOPPING):
                    found = self._leaving_loop(op, way)
                    if found is not None:
                        running, scope = found
                        left = self._outcome(way, RETURNED, scope=scope)
                        return self._split(running, left, ops[position + 1 :], way)
                case "scope":
                    inner = _Way(then=_no_yield, scope=_types(op.results))
                    self.build.put_all(op.results, self._sequence(op.regions[0].ops, inner)[1:])
                case _ if op.regions:
                    self._plain(op)
                case _:
                    self.build.copy(op)
        raise InternalError("a region has no terminator")

    # -- ops that nothing leaves -------------------------------------------------------------------

    def _plain(self, op: Op) -> None:
        """An op that no break or return leaves: its regions are rewritten on their own."""
        operands = self.build.get_all(op.operands)
        regions = []
        for region in op.regions:
            args = self.build.define_all(region.args)
            self.build.open()
            if op.name in LOOPS and region is op.regions[-1]:
                way = _Way(
                    lambda values: (self.build.const(i32, NEXT), *values), _types(op.results)
                )
                end = self._sequence(region.ops, way)[1:]
            else:
                end = self._sequence(region.ops, _Way(then=tuple))
            self.build.emit("yield", end)
            regions.append(self.build.close(args))
        self.build.append(self.build.remade(op, operands, tuple(regions)))

    def _next(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return (self.build.const(i32, NEXT), *values)

    # -- if ----------------------------------------------------------------------------------------

    def _leaving_if(self, op: Op, rest: Sequence[Op], way: _Way) -> tuple[Value, ...]:
        """An ``if`` with exits, and what follows it."""
        condition = self.build.get(op.operands[0])
        if any(region.terminator.name != "yield" for region in op.regions):
            return self._merge(op, condition, replace(way, then=self._continuing(op, rest, way)))
        fall = _types(op.results)
        inner = replace(way, fall=fall)
        inner = replace(inner, then=lambda values: self._outcome(inner, FELL, fall=values))
        found = self._merge(op, condition, inner)
        kept = len(found) - len(fall)
        self.build.put_all(op.results, found[kept:])
        fell = self.build.op("icmp", found[0], self.build.const(i32, FELL), pred="eq")
        left = (*found[:kept], *(self.build.zero(t) for t in way.fall))
        return self._split(fell, left, rest, way)

    def _continuing(
        self, op: Op, rest: Sequence[Op], way: _Way
    ) -> Callable[[tuple[Value, ...]], tuple[Value, ...]]:
        """What follows ``op`` happens at the end of the only arm that falls through."""

        def then(values: tuple[Value, ...]) -> tuple[Value, ...]:
            self.build.put_all(op.results, values)
            return self._sequence(rest, way)

        return then

    def _merge(self, op: Op, condition: Value, way: _Way) -> tuple[Value, ...]:
        """An ``if`` whose arms yield their outcomes; gives the outcome of the one that ran."""
        span = op.span
        regions = []
        for region in op.regions:
            self.build.open()
            self.build.emit("yield", self._sequence(region.ops, way))
            regions.append(self.build.close())
        self.build.span = span
        return self.build.emit("if", (condition,), way.types, regions)

    def _split(
        self, going_on: Value, left: tuple[Value, ...], rest: Sequence[Op], way: _Way
    ) -> tuple[Value, ...]:
        """What follows an op that may have left, where it has not; else the outcome ``left``."""
        span = self.build.span
        self.build.open()
        self.build.emit("yield", self._sequence(rest, way))
        then = self.build.close()
        self.build.span = span
        self.build.open()
        self.build.emit("yield", left)
        return self.build.emit("if", (going_on,), way.types, (then, self.build.close()))

    # -- loops -------------------------------------------------------------------------------------

    def _leaving_loop(self, op: Op, way: _Way) -> tuple[Value, tuple[Value, ...]] | None:
        """A loop with ``break`` or ``return`` as a ``while`` on a status.

        Gives, when the loop may return, whether it has not, and what the scope takes.
        """
        span = op.span
        body = op.regions[-1]
        returns = has_exit(body, frozenset({"return"}))
        types = _types(op.results)
        inner = _Way(tuple, types, way.scope if returns else ())
        inner = replace(inner, then=lambda values: self._outcome(inner, NEXT, loop=values))
        counter = Counter.of(self.build, op, self._constants) if op.name == "for" else None
        counted = () if counter is None else counter.init
        init = (*counted, *self._outcome(inner, NEXT, loop=self.build.get_all(carried_inits(op))))
        test = self._test(op, counter, _types(init))
        args = self._carried(op, counter, _types(init))
        self.build.open()
        if counter is not None:
            self.build.put(body.args[0], args[0])
        self.build.put_all(carried_args(op)[-1], args[len(counted) + 1 :][: len(types)])
        outcome = self._sequence(body.ops, inner)
        self.build.span = span
        after = () if counter is None else counter.advance(self.build, args[0], args[1])
        self.build.emit("yield", (*after, *outcome))
        found = self.build.emit("while", init, _types(init), (test, self.build.close(args)))[
            len(counted) :
        ]
        self.build.put_all(op.results, found[1 : 1 + len(types)])
        if not returns:
            return None
        return self._status_is(found[0], RETURNED, pred="ne"), found[1 + len(types) :]

    def _status_is(self, status: Value, number: int, pred: str = "eq") -> Value:
        return self.build.op("icmp", status, self.build.const(i32, number), pred=pred)

    def _carried(
        self, op: Op, counter: Counter | None, types: tuple[Type, ...]
    ) -> tuple[Value, ...]:
        """Fresh region arguments for the ``while``."""
        args = tuple(Value(t) for t in types)
        skipped = 0 if counter is None else 2
        if counter is not None:
            self.build.give_name(args[1], "left")
        self.build.give_name(args[skipped], "status")
        for arg, result in zip(args[skipped + 1 :], op.results, strict=False):
            self.build.give_name(arg, self.build.name_of(result))
        return args

    def _test(self, op: Op, counter: Counter | None, types: tuple[Type, ...]) -> Region:
        """The condition of the ``while``: not left yet, and the loop's own condition."""
        args = self._carried(op, counter, types)
        self.build.open()
        if counter is not None:
            running = self._status_is(args[2], NEXT)
            more = self.build.op("icmp", args[1], self.build.const(u64, 0), pred="ne")
            self.build.emit("yield", (self.build.op("iand", running, more),))
            return self.build.close(args)
        running = self._status_is(args[0], NEXT)
        condition = op.regions[0]
        self.build.put_all(condition.args, args[1 : 1 + len(condition.args)])
        self.build.open()
        self.build.emit("yield", self._sequence(condition.ops, _Way(then=tuple)))
        then = self.build.close()
        self.build.open()
        self.build.emit("yield", (self.build.const(b1, False),))
        self.build.emit(
            "yield", self.build.emit("if", (running,), (b1,), (then, self.build.close()))
        )
        return self.build.close(args)


@dataclass(frozen=True, slots=True)
class Counter:
    """How a ``for`` counts as a ``while``: its variable, and the distance left in unsigned 64 bits.

    The distance is that from the variable to the bound, 0 when the loop is over; in each iteration
    it shrinks by the magnitude of the step.  The variable itself may wrap after the last iteration,
    when nobody reads it.
    """

    init: tuple[Value, Value]
    step: Value
    magnitude: Value

    @staticmethod
    def of(build: Rebuild, op: Op, constants: Constants) -> Counter:
        """The counter of a ``for`` that starts here."""
        low, high, step = build.get_all(op.operands[:3])
        if may_have_step_zero(op, constants):
            _check_step(build, op, low, step)
        by = constants.get(op.operands[2])
        if by is None:
            distance, magnitude = _signed_distance(build, low, high, step)
        elif not by:
            distance = magnitude = build.const(u64, 0)  # no iteration
        else:
            first, last = (low, high) if by > 0 else (high, low)
            distance = _distance(build, first, last)
            magnitude = build.const(u64, abs(int(by)))
        build.give_name(distance, "left")
        return Counter((low, distance), step, magnitude)

    def advance(self, build: Rebuild, index: Value, left: Value) -> tuple[Value, Value]:
        """The variable and the distance of the next iteration."""
        more = build.op("icmp", left, self.magnitude, pred="ugt")
        rest = build.op("isub", left, self.magnitude)
        zero = build.const(u64, 0)
        return build.op("iadd", index, self.step), build.op("select", more, rest, zero)


def _check_step(build: Rebuild, op: Op, low: Value, step: Value) -> None:
    """An empty loop: all it does is to fault when its step is 0."""
    build.open()
    build.emit("yield")
    attrs: dict[str, Attr] = dict(op.attrs)
    build.emit("for", (low, low, step), (), (build.close((Value(low.type),)),), **attrs)


def _distance(build: Rebuild, first: Value, last: Value) -> Value:
    """``last - first`` as an exact unsigned number, 0 where it is negative."""
    less = build.op("icmp", first, last, pred="slt")
    length = build.op("isub", _unsigned(build, last), _unsigned(build, first))
    return build.op("select", less, length, build.const(u64, 0))


def _signed_distance(build: Rebuild, low: Value, high: Value, step: Value) -> tuple[Value, Value]:
    """Distance and magnitude of the step when its sign is known only at run time; step 0 has
    distance 0.
    """
    zero = build.zero(step.type)
    up = build.op("icmp", step, zero, pred="sgt")
    down = build.op("icmp", step, zero, pred="slt")
    wide = _unsigned(build, step)
    magnitude = build.op("select", up, wide, build.op("ineg", wide))
    backwards = build.op("select", down, _distance(build, high, low), build.const(u64, 0))
    return build.op("select", up, _distance(build, low, high), backwards), magnitude


def _unsigned(build: Rebuild, value: Value) -> Value:
    """An i32 or i64 as the u64 with the bits of its 64-bit form."""
    wide = value if value.type is i64 else build.op("sext", value, type=i64)
    return build.op("bitcast", wide, type=u64)
