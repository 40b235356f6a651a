"""Random kernels that compute indices in every way, to try whether what is called proved is.

Accesses may be out of bounds, divisors and steps zero; integers come near the ends of their types.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heald.interp import ArrayView
from heald.ir import Builder, Kernel, Region, Value
from heald.ops import TABLE
from heald.types import Array, Scalar, b1, f32, i8, i32, i64, u8, u32, u64

_TYPES = (i32, i32, i32, i32, i64, u32, i8, u8, u64)
_EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 16, -1, -2, -5, 100)


@dataclass
class _Maker:
    random: random.Random
    left: int
    builder: Builder = field(default_factory=lambda: Builder(TABLE))
    values: list[Value] = field(default_factory=list)
    arrays: list[Value] = field(default_factory=list)
    loops: list[tuple[Scalar, ...] | None] = field(default_factory=lambda: [None])
    scopes: list[tuple[Scalar, ...]] = field(default_factory=lambda: [()])

    def kernel(self) -> Kernel:
        b = self.builder
        arrays = [Value(Array(f32, 1)), Value(Array(i32, 1)), Value(Array(f32, 2))]
        numbers = [Value(i32), Value(i32), Value(i64), Value(u32)]
        self.arrays = list(arrays)
        b.open()
        self.values = list(numbers)
        for axis in range(2):
            self.values += b.emit("tid", (), (i32,), axis=axis)
        self.values += b.emit("launch_dim", (), (i32,), axis=0)
        self.arrays += b.emit("alloc", (), (Array(f32, 1, "local", (8,)),))
        for array in self.arrays:
            self.values += b.emit("dim", (array,), (i32,), axis=array.type.ndim - 1)
        if not self.block(0):
            b.emit("return")
        names = ("a", "b", "m", "n", "k", "w", "h")
        params = (*arrays, *numbers)
        return Kernel("indexing", params, b.close(), (), 2, dict(zip(params, names, strict=True)))

    # -- values

    def chance(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def constant(self, t: Scalar) -> Value:
        number = self.random.choice(_EDGES)
        if self.chance(12):
            number = self.random.choice([t.lowest, t.highest, t.highest - 1])
        return self.builder.const(t, max(t.lowest, min(t.highest, number)))

    def some(self, t: Scalar) -> Value:
        have = [v for v in self.values if v.type is t]
        if not have or self.chance(5):
            return self.constant(t)
        return self.random.choice(have[-8:] if self.chance(2) else have)

    def keep(self, value: Value) -> Value:
        self.values.append(value)
        return value

    def compute(self, _: int) -> None:
        op, t = self.builder.op, self.random.choice(_TYPES)
        pick = self.random.randrange(14)
        if pick < 5:
            self.keep(op(self.random.choice(["iadd", "isub"]), self.some(t), self.some(t)))
        elif pick == 5:
            self.keep(
                op(self.random.choice(["imul", "imul", "shl"]), self.some(t), self.constant(t))
            )
        elif pick == 6:
            names = ("idiv", "irem") if t.kind == "i" else ("udiv", "urem")
            divisor = self.constant(t) if self.chance(2) else self.some(t)
            self.keep(op(self.random.choice(names), self.some(t), divisor))
        elif pick == 7:
            name = self.random.choice(["iand", "iand", "ior", "ixor", "lshr", "ashr", "imul"])
            other = self.constant(t) if self.chance(2) else self.some(t)
            self.keep(op(name, self.some(t), other))
        elif pick < 10:
            prefix = "s" if t.kind == "i" else "u"
            name = prefix + self.random.choice(["min", "max"])
            self.keep(op(name, self.some(t), self.some(t)))
        elif pick == 10:
            self.keep(op("select", self.condition(), self.some(t), self.some(t)))
        elif pick == 11:
            self.keep(op(self.random.choice(["ineg", "inot"]), self.some(t)))
        elif pick == 12:
            self.convert()
        else:
            self.keep(op("zext", self.condition(), type=t))

    def convert(self) -> None:
        source, target = (self.random.choice(_TYPES) for _ in range(2))
        if source.bits == target.bits:
            name = "bitcast"
        elif source.bits > target.bits:
            name = "trunc"
        else:
            name = self.random.choice(["sext", "zext"])
        self.keep(self.builder.op(name, self.some(source), type=target))

    def condition(self, depth: int = 0) -> Value:
        op = self.builder.op
        pick = self.random.randrange(8)
        if depth < 2 and pick == 0:
            name = self.random.choice(["iand", "ior"])
            return op(name, self.condition(depth + 1), self.condition(depth + 1))
        if depth < 2 and pick == 1:
            return op("inot", self.condition(depth + 1))
        if depth < 2 and pick == 2:
            return self.short_circuit(depth)
        t = self.random.choice(_TYPES)
        preds = ("eq", "ne", "slt", "slt", "sle", "sgt", "sge", "sge", "ult", "ule", "ugt", "uge")
        return op("icmp", self.some(t), self.some(t), pred=self.random.choice(preds))

    def short_circuit(self, depth: int) -> Value:
        first = self.condition(depth + 1)
        both = self.chance(2)
        constant = lambda: self.builder.const(b1, not both)  # noqa: E731

        def end(value: Callable[[], Value]) -> Region:
            return self.region((), lambda: self.builder.emit("yield", (value(),)))

        second = end(lambda: self.condition(depth + 1))
        arms = (second, end(constant)) if both else (end(constant), second)
        return self.builder.emit("if", (first,), (b1,), arms)[0]

    # -- accesses

    def access(self, _: int) -> None:
        array = self.random.choice(self.arrays)
        self.touch(array, [self.index(array, axis) for axis in range(array.type.ndim)])

    def index(self, array: Value, axis: int) -> Value:
        """Anything, or something made to fit."""
        b = self.builder
        index = self.some(self.random.choice([i32, i32, i64]))
        pick = self.random.randrange(4)
        if pick == 0:
            return index
        t = index.type
        assert isinstance(t, Scalar)
        (extent,) = b.emit("dim", (array,), (t,), axis=axis)
        if pick == 1:
            last = b.op("isub", extent, b.const(t, 1))
            return b.op("smax", b.op("smin", index, last), b.const(t, 0))
        if pick == 2:
            return b.op("irem", index, extent)
        return b.op("iand", index, b.const(t, self.random.choice([1, 3, 7])))

    def touch(self, array: Value, index: list[Value]) -> None:
        t = array.type.dtype
        if t is i32 or self.chance(2):
            results = self.builder.emit("load", (array, *index), (t,))
            if t is i32:
                self.values += results
        elif array.type.space == "local":
            self.builder.emit("store", (array, *index, self.builder.const(t, 1.0)))

    def checked(self, depth: int) -> bool:
        """An access under the comparisons that make it right, more or less."""
        b = self.builder
        array = self.random.choice([a for a in self.arrays if a.type.ndim == 1])
        index = self.some(i32)
        (extent,) = b.emit("dim", (array,), (i32,), axis=0)
        low = b.op("icmp", index, b.const(i32, self.random.choice([0, 0, 1])), pred="sge")
        high = b.op("icmp", index, extent, pred=self.random.choice(["slt", "slt", "sle", "ult"]))
        offset = b.const(i32, self.random.choice([0, 0, 0, 1, -1]))

        def inside() -> None:
            self.touch(array, [b.op("iadd", index, offset)])
            if not self.block(depth + 1):
                b.emit("yield")

        if self.chance(3):
            # The way of an early return.
            out = b.op("inot", b.op("iand", low, high))
            leave = self.region(
                (), lambda: b.emit("return", [self.some(t) for t in self.scopes[-1]])
            )
            stay = self.region((), lambda: b.emit("yield"))
            b.emit("if", (out,), (), (leave, stay))
            inside_op = b.op("iadd", index, offset)
            self.touch(array, [inside_op])
            return False
        regions = (self.region((), inside), self.region((), lambda: b.emit("yield")))
        b.emit("if", (b.op("iand", low, high),), (), regions)
        return False

    def view(self, _: int) -> None:
        b, array = self.builder, self.random.choice(self.arrays)
        letters = [self.random.choice("isf") for _ in range(array.type.ndim)]
        if set(letters) == {"i"}:
            letters[0] = "s"
        operands = [array]
        for letter, axis in zip(letters, range(4), strict=False):
            if letter == "i":
                operands.append(self.index(array, axis))
            elif letter == "s":
                length = self.some(i32)
                if self.chance(2):
                    (length,) = b.emit("dim", (array,), (i32,), axis=axis)
                operands += [
                    self.constant(i32),
                    length,
                    b.const(i32, self.random.choice([1, 1, 2, -1])),
                ]
        t = Array(array.type.dtype, array.type.ndim - letters.count("i"), array.type.space)
        self.arrays += b.emit("subview", operands, (t,), axes="".join(letters))

    # -- control flow

    def block(self, depth: int) -> bool:
        for _ in range(self.random.randrange(2, 7)):
            if self.left <= 0:
                return False
            self.left -= 1
            kinds: list[Callable[[int], bool | None]] = [self.compute] * 6 + [self.access] * 3
            kinds += [self.view]
            if depth < 4:
                kinds += [self.checked] * 3 + [self.branch] * 2 + [self.count] * 2
                kinds += [self.repeat, self.inline]
            if self.random.choice(kinds)(depth):
                return True
        return False

    def region(self, args: tuple[Value, ...], fill: Callable[[], object]) -> Region:
        values, arrays = len(self.values), len(self.arrays)
        self.builder.open()
        self.values += args
        fill()
        del self.values[values:], self.arrays[arrays:]
        return self.builder.close(args)

    def leave(self, name: str, types: tuple[Scalar, ...]) -> None:
        self.builder.emit(name, [self.some(t) for t in types])

    def types(self) -> tuple[Scalar, ...]:
        return tuple(self.random.choice(_TYPES) for _ in range(self.random.randrange(3)))

    def branch(self, depth: int) -> bool:
        types, ended = self.types(), []
        leaving = [self.chance(3), self.chance(6)]

        def arm(leaves: bool) -> None:
            closed = self.block(depth + 1)
            if not closed and leaves:
                loop = self.loops[-1]
                if loop is None or self.chance(3):
                    self.leave("return", self.scopes[-1])
                else:
                    self.next(self.random.choice(["break", "continue"]), loop)
            elif not closed:
                self.leave("yield", () if all(leaving) else types)
            ended.append(closed or leaves)

        condition = self.condition()
        regions = tuple(self.region((), lambda leaves=x: arm(leaves)) for x in leaving)
        if all(ended):
            self.builder.emit("if", (condition,), (), regions)
            self.builder.emit("unreachable")
            return True
        results = types if not all(leaving) else ()
        self.values += self.builder.emit("if", (condition,), results, regions)
        return False

    counters: list[Value | None] = field(default_factory=lambda: [None])

    def next(self, name: str, loop: tuple[Scalar, ...]) -> None:
        b = self.builder
        carried = []
        for t, arg in zip(loop, self.args[-1], strict=True):
            if self.chance(2):
                step = b.const(t, self.random.choice([1, 1, 2]))
                carried.append(b.op(self.random.choice(["iadd", "iadd", "isub"]), arg, step))
            else:
                carried.append(self.some(t))
        if self.counters[-1] is not None:
            carried[0] = b.op("iadd", self.counters[-1], b.const(i32, 1))
        b.emit(name, carried)

    args: list[tuple[Value, ...]] = field(default_factory=list)

    def body(self, args: tuple[Value, ...], depth: int, counter: Value | None) -> None:
        loop = tuple(v.type for v in args if isinstance(v.type, Scalar))
        self.loops.append(loop)
        self.args.append(args)
        self.counters.append(counter)
        if not self.block(depth + 1):
            self.next("yield", loop)
        self.counters.pop()
        self.args.pop()
        self.loops.pop()

    def count(self, depth: int) -> None:
        b, t = self.builder, self.random.choice([i32, i32, i32, i64])
        low = self.constant(t) if self.chance(2) else self.some(t)
        high = self.some(t)
        bound = b.const(t, self.random.choice([3, 5, 9]))
        if self.chance(2):
            high = b.op("smin", high, b.op("iadd", low, bound))
        else:
            low = b.op("smax", low, b.op("isub", high, bound))
        step = b.const(t, self.random.choice([1, 1, 1, 2, 3, -1, -2, 0]))
        if self.chance(5):
            step = self.some(t)
        types = self.types()
        args = (Value(t), *map(Value, types))
        init = [self.some(v) for v in types]
        region = self.region(args, lambda: self.body(args[1:], depth, None))
        self.values += b.emit("for", (low, high, step, *init), types, (region,))

    def repeat(self, depth: int) -> None:
        b = self.builder
        types = (i32, *self.types())
        init = [b.const(i32, 0), *(self.some(t) for t in types[1:])]
        heads = [tuple(Value(t) for t in types) for _ in range(2)]

        def condition() -> None:
            more = b.op("icmp", heads[0][0], b.const(i32, self.random.randrange(6)), pred="slt")
            if self.chance(2):
                more = b.op("iand", more, self.condition())
            b.emit("yield", (more,))

        regions = (
            self.region(heads[0], condition),
            self.region(heads[1], lambda: self.body(heads[1], depth, heads[1][0])),
        )
        self.values += b.emit("while", init, types, regions)

    def inline(self, depth: int) -> None:
        types = self.types()

        def fill() -> None:
            self.loops.append(None)
            self.counters.append(None)
            self.scopes.append(types)
            if not self.block(depth + 1):
                self.leave("return", types)
            self.scopes.pop()
            self.counters.pop()
            self.loops.pop()

        region = self.region((), fill)
        self.values += self.builder.emit("scope", (), types, (region,))


def indexing_kernel(seed: int, size: int = 40) -> Kernel:
    """The random kernel of a seed, with about ``size`` statements."""
    return _Maker(random.Random(seed), size).kernel()


_NUMBERS = (0, 1, 2, 3, 5, 8, -1, -3, 2**31 - 1, 2**31 - 2, -(2**31), -(2**31) + 1, 2**31 - 6)
_EXTENTS = (0, 1, 2, 3, 4, 6, 8, 9, 17)


def a_launch(rng: random.Random) -> tuple[tuple[int, ...], list[Any]]:
    """Dims and arguments of an ``indexing_kernel``."""
    extents = [rng.choice(_EXTENTS) for _ in range(4)]
    if rng.random() < 0.5:
        extents = [extents[0]] * 4
    dims = (rng.choice([1, 2, 3, 7]), rng.choice([1, 2, 5]))
    if rng.random() < 0.4:
        dims = (max(1, extents[0]), max(1, extents[3]))
    a, b = ArrayView.allocate(f32, extents[:1]), ArrayView.allocate(i32, extents[1:2])
    m = ArrayView.allocate(f32, extents[2:])
    b.leaf()[...] = np.array([rng.choice(_NUMBERS) for _ in range(extents[1])], np.int64)
    pools = [_NUMBERS if rng.random() < 0.5 else extents for _ in range(4)]
    numbers = [rng.choice(pool) for pool in pools]
    return dims, [a, b, m, *numbers[:3], numbers[3] % 2**32]
