"""Random kernels made of control flow: nested loops, scopes and branches that are left early.

``strategies.kernels`` covers every op and type; this covers what exits, carried values and memory
do to each other.  Every loop ends, every access is in bounds of arrays with at least 4 elements on
each axis, and each thread writes one element of ``out`` and its own local array only.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from heald.ir import Builder, Kernel, Region, Value
from heald.ops import TABLE
from heald.types import Array, Type, b1, f32, i32, i64

_PREDS = ("eq", "ne", "slt", "sle", "sgt", "sge")
_INT_OPS = ("iadd", "isub", "imul", "iand", "ior", "ixor", "smin", "smax")
_FLOAT_OPS = ("fadd", "fsub", "fmul")


@dataclass
class _Frame:
    """What an exit from here carries to the innermost loop and to the innermost scope."""

    loop: tuple[Type, ...] | None
    scope: tuple[Type, ...]


@dataclass
class _Maker:
    random: random.Random
    builder: Builder = field(default_factory=lambda: Builder(TABLE))
    values: list[Value] = field(default_factory=list)
    left: int = 40

    def kernel(self, size: int) -> Kernel:
        self.left = size
        b = self.builder
        self.source = Value(Array(f32, 1))
        self.numbers = Value(Array(i32, 1))
        self.out = Value(Array(f32, 1))
        n, x = Value(i32), Value(f32)
        b.open()
        (self.thread,) = b.emit("tid", (), (i32,), axis=0)
        (self.local,) = b.emit("alloc", (), (Array(i32, 1, "local", (4,)),))
        self.values = [n, x, self.thread, b.const(i32, 3), b.const(f32, 0.5)]
        self.values += b.emit("load", (self.numbers, self.thread), (i32,))
        if not self.block(0, _Frame(None, ())):
            self.store(_Frame(None, ()), 0)
            b.emit("return")
        params = (self.source, self.numbers, self.out, n, x)
        names = dict(zip(params, ("source", "numbers", "out", "n", "x"), strict=True))
        return Kernel("structured", params, b.close(), (), 1, names)

    # -- values

    def chance(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def some(self, t: Type) -> Value:
        have = [v for v in self.values if v.type is t]
        if t is b1 or not have:
            return self.condition() if t is b1 else self.builder.const(t, 1)
        return self.random.choice(have[-6:] if self.chance(2) else have)

    def condition(self) -> Value:
        t = self.random.choice([i32, f32])
        lhs, rhs = self.some(t), self.some(t)
        if t is f32:
            return self.builder.op("fcmp", lhs, rhs, pred=self.random.choice(["olt", "oge", "une"]))
        return self.builder.op("icmp", lhs, rhs, pred=self.random.choice(_PREDS))

    def types(self) -> tuple[Type, ...]:
        return tuple(self.random.choice([i32, f32]) for _ in range(self.random.randrange(3)))

    def place(self) -> Value:
        """An index into any array."""
        return self.builder.op("iand", self.some(i32), self.builder.const(i32, 3))

    # -- statements; each says whether it ended the region

    def block(self, depth: int, frame: _Frame) -> bool:
        for _ in range(self.random.randrange(1, 6)):
            if self.left <= 0:
                return False
            self.left -= 1
            plain = [self.compute, self.compute, self.load, self.load_local, self.store]
            plain.append(self.store_local)
            nested = [self.branch, self.branch, self.branch, self.count, self.repeat, self.inline]
            if self.random.choice(plain + (nested if depth < 5 else []))(frame, depth):
                return True
        return False

    def compute(self, frame: _Frame, depth: int) -> None:
        ops, t = self.random.choice([(_INT_OPS, i32), (_FLOAT_OPS, f32)])
        name = self.random.choice(ops)
        self.values.append(self.builder.op(name, self.some(t), self.some(t)))

    def load(self, frame: _Frame, depth: int) -> None:
        array = self.random.choice([self.source, self.source, self.out])
        place = self.thread if array is self.out else self.place()
        self.values += self.builder.emit("load", (array, place), (f32,))

    def load_local(self, frame: _Frame, depth: int) -> None:
        self.values += self.builder.emit("load", (self.local, self.place()), (i32,))

    def store(self, frame: _Frame, depth: int) -> None:
        self.builder.emit("store", (self.out, self.thread, self.some(f32)))

    def store_local(self, frame: _Frame, depth: int) -> None:
        self.builder.emit("store", (self.local, self.place(), self.some(i32)))

    # -- control flow

    def exit(self, frame: _Frame) -> None:
        b = self.builder
        if frame.loop is None or self.chance(3):
            b.emit("return", [self.some(t) for t in frame.scope])
        else:
            self.next(self.random.choice(["break", "continue"]), frame.loop)

    def next(self, name: str, loop: tuple[Type, ...]) -> None:
        b = self.builder
        carried = [self.some(t) for t in loop]
        if self.counters[-1] is not None:
            carried[0] = b.op("iadd", self.counters[-1], b.const(i32, 1))
        b.emit(name, carried)

    counters: list[Value | None] = field(default_factory=lambda: [None])

    def region(self, args: Sequence[Value], fill: object) -> Region:
        mark = len(self.values)
        self.builder.open()
        self.values += args
        fill()  # type: ignore[operator]
        del self.values[mark:]
        return self.builder.close(args)

    def branch(self, frame: _Frame, depth: int) -> bool:
        leaving = [self.chance(3), self.chance(4)]
        types = () if all(leaving) else self.types()
        ended = []

        def arm(leaves: bool) -> None:
            closed = self.block(depth + 1, frame)
            if not closed and leaves:
                self.exit(frame)
            elif not closed:
                self.builder.emit("yield", [self.some(t) for t in types])
            ended.append(closed or leaves)

        condition = self.condition()
        regions = [self.region((), lambda leaves=leaves: arm(leaves)) for leaves in leaving]
        if all(ended):
            self.builder.emit("if", (condition,), (), regions)
            self.builder.emit("unreachable")
            return True
        self.values += self.builder.emit("if", (condition,), types, regions)
        return False

    def loop_body(
        self, types: tuple[Type, ...], frame: _Frame, depth: int, counter: Value | None
    ) -> None:
        self.counters.append(counter)
        if not self.block(depth + 1, _Frame(types, frame.scope)):
            self.next("yield", types)
        self.counters.pop()

    def count(self, frame: _Frame, depth: int) -> None:
        b, t = self.builder, self.random.choice([i32, i32, i64])
        low = b.const(t, self.random.randrange(-2, 3))
        high = b.const(t, self.random.randrange(-3, 5))
        if t is i32 and self.chance(2):
            high = b.op("iand", self.some(i32), b.const(i32, 3))
        step = b.const(t, self.random.choice([1, 1, 1, 2, -1, -3]))
        if t is i32 and self.chance(4):
            step = b.op("ior", self.some(i32), b.const(i32, 1))
        types = self.types()
        init = [self.some(v) for v in types]
        args = [Value(t), *map(Value, types)]
        body = self.region(args, lambda: self.loop_body(types, frame, depth, None))
        self.values += b.emit("for", (low, high, step, *init), types, (body,))

    def repeat(self, frame: _Frame, depth: int) -> None:
        b = self.builder
        types = (i32, *self.types())
        init = [b.const(i32, 0), *(self.some(t) for t in types[1:])]
        heads = [[Value(t) for t in types] for _ in range(2)]

        def condition() -> None:
            more = b.op("icmp", heads[0][0], b.const(i32, self.random.randrange(5)), pred="slt")
            if self.chance(2):
                self.load(frame, depth)
                more = b.op("iand", more, self.condition())
            b.emit("yield", (more,))

        regions = (
            self.region(heads[0], condition),
            self.region(heads[1], lambda: self.loop_body(types, frame, depth, heads[1][0])),
        )
        self.values += b.emit("while", init, types, regions)

    def inline(self, frame: _Frame, depth: int) -> None:
        types = self.types()

        def fill() -> None:
            self.counters.append(None)
            if not self.block(depth + 1, _Frame(None, types)):
                self.builder.emit("return", [self.some(t) for t in types])
            self.counters.pop()

        region = self.region((), fill)
        self.values += self.builder.emit("scope", (), types, (region,))


def structured_kernel(seed: int, size: int = 40) -> Kernel:
    """The random kernel of a seed, with about ``size`` statements."""
    return _Maker(random.Random(seed)).kernel(size)
