"""The one mutable thing: a stack of open op lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType

import numpy as np

from heald.diagnostics import InternalError, Span
from heald.ir.core import NO_ATTRS, Attr, Op, Region, Value
from heald.ir.structure import ValueOps
from heald.types import Array, Leaf, Scalar, Type, b1, leaves


class Builder:
    """Appends ops to the innermost open list.

    ``span`` is given to every op made; set it before emitting.  ``extract`` of a value that
    ``compose`` made is folded on the spot, so WIR text stays short.
    """

    def __init__(self, table: ValueOps) -> None:
        self.table = table
        self.span: Span | None = None
        self._stack: list[list[Op]] = []
        self._composed: dict[Value, tuple[Value, ...]] = {}

    # -- regions ---------------------------------------------------------------------------

    def open(self, ops: list[Op] | None = None) -> None:
        """Start a list (or continue one that :meth:`pop` gave)."""
        self._stack.append([] if ops is None else ops)

    def pop(self) -> list[Op]:
        """End the innermost list and take its ops."""
        return self._stack.pop()

    def close(self, args: Sequence[Value] = ()) -> Region:
        """End the innermost list as a region; its last op must be a terminator."""
        return Region(tuple(args), tuple(self._stack.pop()))

    @property
    def depth(self) -> int:
        """How many lists are open."""
        return len(self._stack)

    def mark(self) -> tuple[int, int]:
        """A point to which :meth:`rollback` can return."""
        return len(self._stack), len(self._stack[-1])

    def since(self, mark: tuple[int, int]) -> tuple[Op, ...]:
        """The ops emitted since ``mark``, into lists that are closed or still open."""
        depth, length = mark
        return tuple(self._stack[depth - 1][length:])

    def rollback(self, mark: tuple[int, int]) -> None:
        """Forget every op emitted since ``mark``, inner lists included."""
        depth, length = mark
        del self._stack[depth:]
        del self._stack[-1][length:]

    # -- ops -------------------------------------------------------------------------------

    def append(self, op: Op) -> Op:
        """Append an op that exists already."""
        self._stack[-1].append(op)
        return op

    def extend(self, ops: Iterable[Op]) -> None:
        """Append ops that exist already."""
        self._stack[-1].extend(ops)

    def emit(
        self,
        name: str,
        operands: Iterable[Value] = (),
        types: Iterable[Type] = (),
        regions: Iterable[Region] = (),
        **attrs: Attr,
    ) -> tuple[Value, ...]:
        """Append an op with results of the given types and return the results."""
        results = tuple(Value(t) for t in types)
        frozen = MappingProxyType(attrs) if attrs else NO_ATTRS
        self.append(Op(name, tuple(operands), results, frozen, tuple(regions), self.span))
        return results

    def op(self, name: str, *operands: Value, type: Type | None = None, **attrs: Attr) -> Value:
        """Append a value op with one result.

        The type rule of the table decides the result type; ops whose type the operands do not
        decide (conversions) take it as ``type``.

        Raises:
            InternalError: the type rule refuses the operands.
        """
        declared = () if type is None else (Value(type),)
        probe = Op(name, operands, declared, attrs, (), self.span)
        types = self.table[name].type_rule(probe)
        if isinstance(types, str):
            raise InternalError(f"{name}: {types}")
        (value,) = self.emit(name, operands, types, (), **attrs)
        return value

    def const(self, type: Scalar, value: bool | int | float) -> Value:
        """A constant, rounded to its type: text, hash and meaning agree."""
        (result,) = self.emit("const", (), (type,), value=round_constant(type, value))
        return result

    def zero(self, type: Type) -> Value:
        """The value with zero in every leaf."""
        match type:
            case Scalar():
                return self.const(type, 0)
            case Array():
                raise InternalError("an array has no zero value")
        return self.compose(type, [self.zero(leaf) for leaf in leaves(type)])

    # -- composites ------------------------------------------------------------------------

    def compose(self, type: Type, parts: Sequence[Value]) -> Value:
        """A value from all its leaves; a scalar or array is its own only leaf."""
        if isinstance(type, (Scalar, Array)):
            (only,) = parts
            return only
        (result,) = self.emit("compose", parts, (type,))
        self._composed[result] = tuple(parts)
        return result

    def extract(self, value: Value, leaf: int) -> Value:
        """One leaf of a composite; no op is made when the leaf is at hand."""
        parts = self._composed.get(value)
        if parts is not None:
            return parts[leaf]
        (result,) = self.emit("extract", (value,), (leaves(value.type)[leaf],), leaf=leaf)
        return result

    def parts(self, value: Value) -> tuple[Value, ...]:
        """All leaves of a value; a scalar or array is its own only leaf."""
        own: tuple[Leaf, ...] = leaves(value.type)
        if own == (value.type,):
            return (value,)
        return tuple(self.extract(value, k) for k in range(len(own)))


def round_constant(type: Scalar, value: bool | int | float) -> bool | int | float:
    """A Python number as the value that ``type`` holds.

    Raises:
        InternalError: an integer outside the type (the front end reports that to the user before).
    """
    if type is b1:
        return bool(value)
    if type.is_integer:
        number = int(value)
        if not type.lowest <= number <= type.highest:
            raise InternalError(f"constant {number} does not fit {type}")
        return number
    with np.errstate(over="ignore"):
        return float(type(value))
