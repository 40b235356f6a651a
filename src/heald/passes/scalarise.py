"""Composites to leaves."""

from __future__ import annotations

from collections.abc import Iterable

from heald.ir import ATOMICS, Kernel, Op, Region, Value
from heald.passes.rebuild import Rebuild
from heald.types import Array, Scalar, Type, leaf_path, leaves


def scalarise(kernel: Kernel) -> Kernel:
    """Replace every composite value by its leaves, so that only scalars and arrays exist.

    Before::

        %v: vec<f32,2> = load %p, %i [guard=true, id=3]
        %x = extract %v [leaf=0]
        store %q, %i, %v [guard=true, id=5]

    After::

        %v_0 = load %p, %i [leaf=0, guard=true, id=3]
        %v_1 = load %p, %i [leaf=1, guard=true, id=3]
        store %q, %i, %v_0 [leaf=0, guard=true, id=5]
        store %q, %i, %v_1 [leaf=1, guard=true, id=5]

    Region arguments, yields, exits, results and returned values flatten in declaration order.
    Every leaf of an access keeps guard and id: the checks are equal, so all fail or none does and
    only the first is reported; code generators and ``eliminate_common_subexpressions`` merge what
    they compute.  Parameters keep their types, and ``extract %param [leaf=k]`` at the entry reads
    them.
    """
    return _Scalarise(kernel).run()


def is_composite(t: Type) -> bool:
    """Does ``t`` consist of leaves?"""
    return not isinstance(t, Scalar | Array)


class _Scalarise:
    """Knows the leaves of every composite value."""

    def __init__(self, kernel: Kernel) -> None:
        self.build = Rebuild(kernel)
        self._parts: dict[Value, tuple[Value, ...]] = {}

    def run(self) -> Kernel:
        self.build.open()
        for parameter in self.build.kernel.params:
            if is_composite(parameter.type):
                self._parts[parameter] = tuple(
                    self._read(parameter, k, t) for k, t in enumerate(leaves(parameter.type))
                )
        self.build.visit_all(self.build.kernel.body.ops, self._one)
        body = self.build.closed(self.build.kernel.body, ())
        results = tuple(leaf for t in self.build.kernel.results for leaf in leaves(t))
        if results == self.build.kernel.results:
            return self.build.finish(body)
        return self.build.finish(body, results=results)

    def _read(self, parameter: Value, leaf: int, t: Type) -> Value:
        (value,) = self.build.emit("extract", (parameter,), (t,), leaf=leaf)
        return self._name_part(parameter, leaf, value)

    def _one(self, op: Op) -> None:
        self.build.span = op.span
        match op.name:
            case "compose":
                self._parts[op.result] = self._flat(op.operands)
            case "extract":
                self.build.put(op.result, self._parts[op.operands[0]][_leaf_of(op)])
            case "insert":
                parts = list(self._parts[op.operands[0]])
                parts[_leaf_of(op)] = self.build.get(op.operands[1])
                self._parts[op.result] = tuple(parts)
            case "load" | "store" if self._moves_composite(op):
                self._split(op)
            case name if name in ATOMICS and self._moves_composite(op):
                self._split(op)
            case _:
                self._plain(op)

    @staticmethod
    def _moves_composite(op: Op) -> bool:
        array = op.operands[0].type
        assert isinstance(array, Array)
        return is_composite(array.dtype) and "leaf" not in op.attrs

    def _split(self, op: Op) -> None:
        """An access to an element as accesses to its leaves."""
        array = op.operands[0].type
        assert isinstance(array, Array)
        place = self.build.get_all(op.operands[: 1 + array.ndim])
        values = [self._parts[v] for v in op.operands[1 + array.ndim :]]
        made: list[Value] = []
        for k, leaf in enumerate(leaves(array.dtype)):
            types = (leaf,) if op.results else ()
            given = [parts[k] for parts in values]
            made_here = tuple([Value(t) for t in types])
            attrs = {"leaf": k, **op.attrs}
            self.build.append(Op(op.name, (*place, *given), made_here, attrs, (), op.span))
            made += made_here
        for value in op.results:
            self._name_parts(value, made)
            self._parts[value] = tuple(made)

    def _plain(self, op: Op) -> None:
        """Any other op: what it takes, gives and encloses flattens."""
        operands = self._flat(op.operands)
        regions = tuple(self._region(r) for r in op.regions)
        results = self._flat_new(op.results)
        same = operands == op.operands and results == op.results and regions == op.regions
        self.build.append(
            op if same else Op(op.name, operands, results, op.attrs, regions, op.span)
        )

    def _region(self, region: Region) -> Region:
        args = self._flat_new(region.args)
        self.build.open()
        self.build.visit_all(region.ops, self._one)
        return self.build.closed(region, args)

    def _flat(self, values: Iterable[Value]) -> tuple[Value, ...]:
        """The leaves of values read."""
        flat: list[Value] = []
        for value in values:
            parts = self._parts.get(value)
            if parts is None:
                flat.append(self.build.get(value))
            else:
                flat += parts
        return tuple(flat)

    def _flat_new(self, values: Iterable[Value]) -> tuple[Value, ...]:
        """The leaves of values defined here."""
        flat: list[Value] = []
        for value in values:
            if is_composite(value.type):
                parts = tuple(Value(t) for t in leaves(value.type))
                self._name_parts(value, parts)
                self._parts[value] = parts
                flat += parts
            else:
                flat.append(self.build.define(value))
        return tuple(flat)

    def _name_parts(self, value: Value, parts: Iterable[Value]) -> None:
        for k, part in enumerate(parts):
            self._name_part(value, k, part)

    def _name_part(self, value: Value, leaf: int, part: Value) -> Value:
        """Arrays are called as in the source, since errors show their names."""
        name = self.build.name_of(value)
        if name and isinstance(part.type, Array):
            name = ".".join([name, *leaf_path(value.type, leaf)])
        elif name:
            name = f"{name}_{leaf}"
        return self.build.give_name(part, name)


def _leaf_of(op: Op) -> int:
    leaf = op.attrs["leaf"]
    assert isinstance(leaf, int)
    return leaf
