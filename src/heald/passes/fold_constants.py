"""Constant folding, identities, and control flow that constants decide."""

from __future__ import annotations

from heald.ir import STRUCTURAL, Effect, Kernel, Op, Region, Value, region_effects
from heald.ops import TABLE
from heald.passes.facts import DIVISIONS, note_constant
from heald.passes.fold_rules import RULE_SET
from heald.passes.liveness import ends_of
from heald.passes.patterns import Literal, Node, Number, Pattern, Rule, Variable
from heald.passes.rebuild import Rebuild
from heald.types import Array, Scalar, Type, b1, bf16
from heald.types.descriptors import from_bfloat16, to_bfloat16


def fold_constants(kernel: Kernel) -> Kernel:
    """Compute what is constant, apply the identities of ``fold_rules``, and take branches that are
    decided.

    Before::

        %0 = const [value=2]
        %1 = const [value=3]
        %2 = imul %0, %1
        %3 = iadd %i, %2
        %4 = isub %3, %2
        %5 = if %true () {
          %6 = load %a, %4
          yield %6
        } () {
          yield %x
        }

    After (what is left unread, ``drop_dead`` removes)::

        %2 = const [value=6]
        %6 = load %a, %i

    Also: an ``if`` without ops becomes ``select``; loops that run no iteration go; a scope with one
    return at its end dissolves; extents of arrays of static shape become constants; ``extract``
    meets its ``compose``. A division by zero is never folded, so its fault stays.
    """
    return _Fold(kernel).run()


_SWAPPED = {
    "eq": "eq",
    "ne": "ne",
    "slt": "sgt",
    "sle": "sge",
    "sgt": "slt",
    "sge": "sle",
    "ult": "ugt",
    "ule": "uge",
    "ugt": "ult",
    "uge": "ule",
}
_COMMUTATIVE = frozenset(
    {"iadd", "imul", "iand", "ior", "ixor", "smin", "smax", "umin", "umax", "smulhi", "umulhi"}
)


class _Fold:
    """Knows the op behind every new value, and its number where that op is a constant."""

    def __init__(self, kernel: Kernel) -> None:
        self.build = Rebuild(kernel, self._note)
        self._made: dict[Value, Op] = {}
        self._constants: dict[Value, Number] = {}

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _note(self, op: Op) -> None:
        if op.name == "const":
            note_constant(op, self._constants)
        for value in op.results:
            self._made[value] = op

    def _one(self, op: Op) -> bool | None:
        self.build.span = op.span
        match op.name:
            case "if":
                return self._if(op)
            case "for":
                self._for(op)
            case "while":
                self._while(op)
            case "scope":
                self._scope(op)
            case "extract" | "insert" | "compose" | "dim":
                self._replace(op, self._fold_structural(op))
            case "assert" | "assume" if self._constants.get(self.build.get(op.operands[0])):
                pass  # true by now
            case name if name in STRUCTURAL or not op.results:
                self.build.copy(op)
            case _:
                self._replace(op, self._simplify(self._moved(op)))
        return None

    def _moved(self, op: Op) -> Op:
        """``op`` on what its operands are now, not appended."""
        operands = self.build.get_all(op.operands)
        if operands == op.operands:
            return op
        return Op(op.name, operands, op.results, op.attrs, (), op.span)

    def _replace(self, op: Op, folded: Value | None) -> None:
        if folded is None:
            self.build.copy(op)
        else:
            self.build.put(op.result, folded)

    # -- value ops ---------------------------------------------------------------------------------

    def _simplify(self, op: Op) -> Value | None:
        """A value equal to the single result of ``op``, which has new operands, or None."""
        constants = self._constants
        known = [constants.get(v) for v in op.operands]
        if known and None not in known:
            number = evaluate_constant(op, [n for n in known if n is not None])
            if number is not None:
                return self.build.scalar_const(op.result, number)
        elif len(known) == 2 and known[0] is not None:
            swapped = _swap(op)
            if swapped is not None:
                return self._simplify(swapped) or self._emit_again(swapped)
        shapes = tuple([self._shape(v) for v in op.operands])
        for rule in RULE_SET.candidates(_key(op), shapes):
            found = self._apply(rule, op)
            if found is not None:
                return found
        return None

    def _emit_again(self, op: Op) -> Value:
        """Append ``op`` with a fresh result."""
        fresh = Value(op.result.type)
        self.build.append(Op(op.name, op.operands, (fresh,), op.attrs, (), self.build.span))
        return fresh

    def _shape(self, value: Value) -> str:
        made = self._made.get(value)
        return "" if made is None else _key(made)

    def _apply(self, rule: Rule, op: Op) -> Value | None:
        """What ``rule`` makes of ``op``, or None where it does not match or the types forbid it."""
        bound: dict[str, Value] = {}
        for pattern, value in zip(rule.before.operands, op.operands, strict=True):
            if not self._match(pattern, value, bound):
                return None
        target = op.result.type
        assert isinstance(target, Scalar)
        return self._build(rule.after, target, bound)

    def _match(self, pattern: Pattern, value: Value, bound: dict[str, Value]) -> bool:
        match pattern:
            case Variable():
                if pattern.constant and not self._admits(pattern, value):
                    return False
                return bound.setdefault(pattern.name, value) is value
            case Literal():
                assert isinstance(value.type, Scalar)
                number = pattern.number(value.type)
                return number is not None and same_number(self._constants.get(value), number)
            case Node():
                made = self._made.get(value)
                if made is None or _key(made) != pattern.key:
                    return False
                return all(
                    self._match(inner, operand, bound)
                    for inner, operand in zip(pattern.operands, made.operands, strict=True)
                )

    def _admits(self, pattern: Variable, value: Value) -> bool:
        number = self._constants.get(value)
        assert isinstance(value.type, Scalar)
        return number is not None and pattern.admits(number, value.type)

    def _build(self, pattern: Pattern, type: Scalar, bound: dict[str, Value]) -> Value | None:
        """The value of the right side of a rule, or None where it is not of ``type``."""
        match pattern:
            case Variable():
                value = bound[pattern.name]
                return value if value.type is type else None
            case Literal():
                number = pattern.number(type)
                return None if number is None else self.build.const(type, number)
            case Node():
                operands = self._build_operands(pattern, type, bound)
                if operands is None:
                    return None
                probe = Op(
                    pattern.name, operands, (Value(type),), pattern.attrs, (), self.build.span
                )
                if TABLE[pattern.name].type_rule(probe) != (type,):
                    return None
                return self._simplify(probe) or self._emit_again(probe)

    def _build_operands(
        self, node: Node, type: Scalar, bound: dict[str, Value]
    ) -> tuple[Value, ...] | None:
        """Operands of an op on a right side: values matched, numbers of their type, ops on them."""
        matched = [bound[p.name] for p in node.operands if isinstance(p, Variable)]
        inner = matched[0].type if matched else type
        assert isinstance(inner, Scalar)
        built: list[Value] = []
        for pattern in node.operands:
            value = bound[pattern.name] if isinstance(pattern, Variable) else None
            if value is None:
                value = self._build(pattern, inner, bound)
            if value is None:
                return None
            built.append(value)
        return tuple(built)

    # -- composites and arrays ---------------------------------------------------------------------

    def _fold_structural(self, op: Op) -> Value | None:
        """A value equal to that of an op on composites or arrays, or None."""
        operand = self.build.get(op.operands[0])
        match op.name:
            case "dim":
                shape = operand.type.shape if isinstance(operand.type, Array) else None
                if shape is None:
                    return None
                return self.build.scalar_const(op.result, shape[_number(op, "axis")])
            case "extract":
                leaf = _number(op, "leaf")
                found, source = self._leaf(operand, leaf)
                if found is None and source is not operand:
                    found = self.build.extract(source, leaf)
                return found
            case "insert":
                return operand if self._holds(operand, op) else None
            case _:
                return self._whole(op)

    def _leaf(self, value: Value, leaf: int) -> tuple[Value | None, Value]:
        """A leaf of a composite where ops at hand say what it is, and else of which it is one."""
        while (made := self._made.get(value)) is not None:
            if made.name == "compose":
                return made.operands[leaf], value
            if made.name != "insert":
                break
            if _number(made, "leaf") == leaf:
                return made.operands[1], value
            value = made.operands[0]
        return None, value

    def _holds(self, composite: Value, insert: Op) -> bool:
        """Does a composite have the leaf already that ``insert`` puts into it?"""
        leaf, part = _number(insert, "leaf"), self.build.get(insert.operands[1])
        found, source = self._leaf(composite, leaf)
        made = self._made.get(part)
        if found is not None or made is None or made.name != "extract":
            return found is part
        return made.operands[0] is source and _number(made, "leaf") == leaf

    def _whole(self, op: Op) -> Value | None:
        """The composite all of whose leaves ``op`` puts together again."""
        source: Value | None = None
        for k, part in enumerate(self.build.get_all(op.operands)):
            made = self._made.get(part)
            if made is None or made.name != "extract" or _number(made, "leaf") != k:
                return None
            if source is None:
                source = made.operands[0]
            if made.operands[0] is not source:
                return None
        return source if source is not None and source.type is op.result.type else None

    # -- control flow ------------------------------------------------------------------------------

    def _if(self, op: Op) -> bool | None:
        condition = self.build.get(op.operands[0])
        known = self._constants.get(condition)
        if known is not None:
            return self._inline(op.regions[0 if known else 1], op.results)
        regions = tuple([self.build.region(region, self._one) for region in op.regions])
        falling = [region for region in regions if region.terminator.name == "yield"]
        if not falling:
            return self._leave(op, condition, regions)
        if len(falling) == 2 and all(len(region.ops) == 1 for region in regions):
            if self._select(op, condition, regions):
                return None
        else:
            self._share(op, falling)
        self.build.append(self.build.remade(op, (condition,), regions))
        return None

    def _share(self, op: Op, falling: list[Region]) -> None:
        """Read a value that every falling arm yields alike where it comes from."""
        for k, result in enumerate(op.results):
            common = _common(falling, k)
            if common is not None:
                self.build.put(result, common)

    def _leave(self, op: Op, condition: Value, regions: tuple[Region, ...]) -> bool | None:
        """An ``if`` both of whose arms exit; that may be news, and then what follows is
        unreachable.
        """
        if any(region.terminator.name == "yield" for region in op.regions):
            self.build.append(Op("if", (condition,), (), op.attrs, regions, op.span))
            self.build.emit("unreachable")
            return True
        self.build.append(self.build.remade(op, (condition,), regions))
        return None

    def _select(self, op: Op, condition: Value, regions: tuple[Region, ...]) -> bool:
        """Choose among yields by ``select``; True when the ``if`` is no longer needed."""
        arms = [region.terminator.operands for region in regions]
        done = True
        for result, then, other in zip(op.results, *arms, strict=True):
            if then is other:
                self.build.put(result, then)
            elif isinstance(result.type, Scalar):
                probe = Op("select", (condition, then, other), (result,), {}, (), op.span)
                self.build.put(result, self._simplify(probe) or self._emit_again(probe))
            else:
                done = False
        return done

    def _inline(self, region: Region, results: tuple[Value, ...]) -> bool | None:
        """The ops of the arm that is taken, here."""
        if self.build.visit_all(region.ops[:-1], self._one):
            return True
        end = region.terminator
        if end.name != "yield":
            self.build.copy(end)
            return True
        self.build.put_all(results, self.build.get_all(end.operands))
        return None

    def _for(self, op: Op) -> None:
        low, high, step = self.build.get_all(op.operands[:3])
        by = self._constants.get(step)
        if by and (low is high or self._runs_empty(low, high, by)):
            self.build.put_all(op.results, self.build.get_all(op.operands[3:]))
        else:
            self.build.copy(op, self._one)

    def _runs_empty(self, low: Value, high: Value, step: Number) -> bool:
        first, bound = self._constants.get(low), self._constants.get(high)
        if first is None or bound is None:
            return False
        return first >= bound if step > 0 else first <= bound

    def _while(self, op: Op) -> None:
        regions = tuple([self.build.region(region, self._one) for region in op.regions])
        condition = self._constants.get(regions[0].terminator.operands[0])
        idle = not region_effects(regions[0], TABLE) & ~(Effect.READ | Effect.FAULT)
        operands = self.build.get_all(op.operands)
        if condition is False and idle:
            self.build.put_all(op.results, operands)
        else:
            self.build.append(self.build.remade(op, operands, regions))

    def _scope(self, op: Op) -> None:
        region = self.build.region(op.regions[0], self._one)
        probe = Op("scope", (), op.results, op.attrs, (region,), op.span)
        if ends_of(probe) == [region.terminator]:
            self.build.extend(region.ops[:-1])
            self.build.put_all(op.results, region.terminator.operands)
        else:
            self.build.append(self.build.remade(op, (), (region,)))


# -- helpers ---------------------------------------------------------------------------------------


def evaluate_constant(op: Op, numbers: list[Number]) -> Number | None:
    """The number that a pure op gives for constant operands; None for a division by zero and other
    ops.
    """
    record = TABLE[op.name]
    if op.name in DIVISIONS:
        if not numbers[1]:
            return None
    elif record.effects is not Effect.PURE:
        return None
    carried = [_to_carrier(v.type, n) for v, n in zip(op.operands, numbers, strict=True)]
    return _from_carrier(op.result.type, record.evaluate(op, *carried))


def _to_carrier(t: Type, number: Number) -> object:
    assert isinstance(t, Scalar)
    return to_bfloat16(number) if t is bf16 else t.carrier.type(number)


def _from_carrier(t: Type, carried: object) -> Number:
    assert isinstance(t, Scalar)
    if t is b1:
        return bool(carried)
    if t.is_integer:
        return int(carried)  # type: ignore[call-overload, no-any-return]
    return float(from_bfloat16(carried) if t is bf16 else carried)  # type: ignore[arg-type]


def same_number(found: Number | None, wanted: Number) -> bool:
    """Equality that tells -0.0 from 0.0; None equals nothing."""
    if isinstance(found, float) and isinstance(wanted, float):
        return found.hex() == wanted.hex()
    return found is not None and found == wanted


def _key(op: Op) -> str:
    """What patterns call an op."""
    return f"{op.name}.{op.attrs['pred']}" if "pred" in op.attrs else op.name


def _swap(op: Op) -> Op | None:
    """The op with its two operands exchanged, where that gives the same."""
    operands = op.operands[::-1]
    if op.name in _COMMUTATIVE:
        return Op(op.name, operands, op.results, op.attrs, (), op.span)
    if op.name == "icmp":
        attrs = {"pred": _SWAPPED[str(op.attrs["pred"])]}
        return Op(op.name, operands, op.results, attrs, (), op.span)
    return None


def _number(op: Op, attr: str) -> int:
    value = op.attrs[attr]
    assert isinstance(value, int)
    return value


def _common(falling: list[Region], k: int) -> Value | None:
    """The value from outside that every falling arm yields as result ``k``."""
    first = falling[0].terminator.operands[k]
    for region in falling:
        if region.terminator.operands[k] is not first:
            return None
        if any(first in op.results for op in region.ops):
            return None
    return first
