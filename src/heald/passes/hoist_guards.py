"""Guards of short loops that load, looked at before the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heald.ir import Attr, Kernel, Op, Value, walk
from heald.passes.facts import Constants, constants_of, is_guarded
from heald.passes.loads_ahead import loads_ahead
from heald.passes.rebuild import Rebuild
from heald.types import Array, i64

_I32_END = 1 << 31


def hoist_guards(kernel: Kernel) -> Kernel:
    """Check before a short loop what its accesses would check in each iteration.

    Before, where nothing is known of the step::

        %r = for %lo, %hi, %step, %x [guard=true, id=5] (%k, %s) {
          %y = load %a, %k [guard=true, id=6]
          %t = fadd %s, %y
          yield %t
        }

    After::

        %all = ...      ; 0 < %step and 0 <= %lo and %hi <= the extent of %a
        %r = if %all () {
          %u = for %lo, %hi, %step, %x [guard=false, id=5] (%k, %s) {
            %y = load %a, %k [guard=false, id=6]
            %t = fadd %s, %y
            yield %t
          }
          yield %u
        } () {
          ...           ; the loop as it was
        }

    So iterations of the first loop part nowhere, and code for GPUs loads for four of them at once.
    Only loops for which that pays are taken (``loads_ahead``).  Every bit and every fault is that
    of the loop as it was.

    All that such a loop guards must be loads from arrays that are there before it, at indices that
    are there too, or are the loop variable, or of i32 a sum of such.  A step that counts down must
    be a constant.

    Args:
        kernel: what ``guard`` and ``scalarise`` have seen.
    """
    loops = [op for op in walk(kernel.body) if loads_ahead(op)]
    if not loops:
        return kernel
    constants = constants_of(kernel)
    return _Hoist(kernel, constants, {op: _Loop(op, constants).checks() for op in loops}).run()


@dataclass(frozen=True, slots=True)
class _Index:
    """An index in a loop: a sum of the loop variable if it ``moves``, of values from before the
    loop, each times 1 or -1, and of a constant.  The kernel forms it modulo 2^32."""

    moves: bool
    terms: tuple[tuple[int, Value], ...] = ()
    offset: int = 0
    is_sum: bool = False


@dataclass(frozen=True, slots=True)
class _Check:
    """What must hold ahead: ``index`` stays inside an axis of an array."""

    array: Value
    axis: int
    index: _Index


class _Hoist:
    """Writes short loops twice, without guards and with them."""

    def __init__(
        self, kernel: Kernel, constants: Constants, checks: Mapping[Op, list[_Check]]
    ) -> None:
        self.build = Rebuild(kernel)
        self._constants = constants
        self._checks = checks

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> None:
        checks = self._checks.get(op)
        if not checks:
            self.build.copy(op, self._one)
            return
        build = self.build
        build.span = op.span
        operands = build.get_all(op.operands)
        holds = self._condition(op, operands, checks)
        arms = []
        for unguarded in (True, False):
            build.open()
            visit = self._unguarded if unguarded else None
            region = build.region(op.regions[0], visit)
            attrs: dict[str, Attr] | None = {**op.attrs, "guard": False} if unguarded else None
            again = build.append(build.remade(op, operands, (region,), attrs))
            build.emit("yield", again.results)
            arms.append(build.close())
        results = build.emit("if", [holds], [v.type for v in op.results], arms)
        build.put_all(op.results, results)

    def _unguarded(self, op: Op) -> None:
        if op.name != "load" or not is_guarded(op):
            self.build.copy(op, self._unguarded)
            return
        attrs: dict[str, Attr] = {**op.attrs, "guard": False}
        self.build.append(self.build.remade(op, self.build.get_all(op.operands), (), attrs))

    def _condition(self, op: Op, operands: Sequence[Value], checks: Sequence[_Check]) -> Value:
        """Does the loop count up, or down by a constant, and stay inside all arrays?"""
        build = self.build
        step = self._constants.get(op.operands[2])
        low, high = self._wide(operands[0]), self._wide(operands[1])
        parts = []
        if step is None:
            zero = build.scalar_const(operands[2], 0)
            parts.append(build.op("icmp", operands[2], zero, pred="sgt"))
        elif step < 0:  # of i32, so neither end wraps
            low, high = self._after(high), self._after(low)
        for check in checks:
            parts += self._inside(check, low, high)
        holds = parts[0]
        for part in parts[1:]:
            holds = build.op("iand", holds, part)
        return holds

    def _inside(self, check: _Check, low: Value, high: Value) -> list[Value]:
        """Is the index inside for every value of the loop variable from ``low`` to below ``high``?

        Sums of i32 are formed in i64, where they do not wrap.  Those that lie between 0 and 2^31
        are what they are modulo 2^32 too.
        """
        build, index = self.build, check.index
        (extent,) = build.emit("dim", [build.get(check.array)], [i64], axis=check.axis)
        if index.is_sum:
            extent = build.op("smin", extent, build.const(i64, _I32_END))
        if not index.moves:
            only = self._sum(None, index)
            return [build.op("icmp", only, extent, pred="ult")]
        first, end = self._sum(low, index), self._sum(high, index)
        zero = build.const(i64, 0)
        return [
            build.op("icmp", first, zero, pred="sge"),
            build.op("icmp", end, extent, pred="sle"),
        ]

    def _sum(self, start: Value | None, index: _Index) -> Value:
        build, total = self.build, start
        for sign, term in index.terms:
            wide = self._wide(build.get(term))
            if total is None and sign > 0:
                total = wide
            else:
                base = build.const(i64, 0) if total is None else total
                total = build.op("iadd" if sign > 0 else "isub", base, wide)
        if index.offset or total is None:
            more = build.const(i64, index.offset)
            total = more if total is None else build.op("iadd", total, more)
        return total

    def _wide(self, value: Value) -> Value:
        return value if value.type is i64 else self.build.op("sext", value, type=i64)

    def _after(self, value: Value) -> Value:
        return self.build.op("iadd", value, self.build.const(i64, 1))


class _Loop:
    """What a loop would have to check ahead."""

    def __init__(self, op: Op, constants: Constants) -> None:
        self._op = op
        self._constants = constants
        (self._region,) = op.regions
        self._counter = self._region.args[0]
        self._makers: dict[Value, Op | None] = dict.fromkeys(self._region.args)

    def checks(self) -> list[_Check]:
        """All of it, each once; nothing where that cannot be, or would not pay."""
        step = self._constants.get(self._op.operands[2])
        down = step is not None and step < 0 and self._counter.type is i64
        if down or step == 0:
            return []
        inner = list(walk(self._region))
        self._makers.update((v, op) for op in inner for v in op.results)
        found: dict[_Check, None] = {}
        for op in inner:
            if is_guarded(op):
                needed = self._needed(op)
                if needed is None:
                    return []
                found.update(dict.fromkeys(needed))
        return list(found)

    def _needed(self, op: Op) -> list[_Check] | None:
        """What stands for the guard of ``op``; None where it cannot be looked at ahead."""
        if op.name != "load" or op.operands[0] in self._makers:
            return None
        array = op.operands[0]
        assert isinstance(array.type, Array)
        needed = []
        for axis, value in enumerate(op.operands[1 : 1 + array.type.ndim]):
            index = self._index(value)
            if index is None or (value.type is i64 and index.is_sum):
                return None
            needed.append(_Check(array, axis, index))
        return needed

    def _index(self, value: Value) -> _Index | None:
        if value is self._counter:
            return _Index(moves=True)
        known = self._constants.get(value)
        if known is not None:
            return _Index(moves=False, offset=int(known))
        if value not in self._makers:
            return _Index(moves=False, terms=((1, value),))
        op = self._makers[value]
        if op is None or op.name not in ("iadd", "isub"):
            return None
        one, two = map(self._index, op.operands)
        if one is None or two is None or (two.moves and (one.moves or op.name == "isub")):
            return None
        sign = 1 if op.name == "iadd" else -1
        return _Index(
            one.moves or two.moves,
            (*one.terms, *((sign * s, v) for s, v in two.terms)),
            one.offset + sign * two.offset,
            is_sum=True,
        )
