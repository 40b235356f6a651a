"""The one place for hypothesis strategies: ``from strategies import kernels``."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar

from hypothesis import note
from hypothesis import strategies as st

from heald.diagnostics import Span
from heald.ir import Attr, Builder, Effect, Kernel, Op, Value, to_text
from heald.ops import TABLE
from heald.types import (
    SCALARS,
    Array,
    Composite,
    Matrix,
    Quaternion,
    Scalar,
    Struct,
    Transform,
    Type,
    Vector,
    b1,
    i32,
    i64,
    leaves,
)

T = TypeVar("T")
SEEDS = st.integers(0, 2**32 - 1)

# -------------------------------------------------------------------------------- WIR kernels
#
# Random structured kernels, well typed by construction: they pass `check`, end, and can be run.
# A thread writes only elements that are its own, so no schedule changes a bit.


@dataclass(frozen=True)
class Signature:
    """One way to use a value op."""

    op: str
    operands: tuple[Scalar, ...]
    result: Scalar
    attrs: tuple[tuple[str, Attr], ...]


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_PREDICATES += ("oeq", "une", "olt", "ole", "ogt", "oge")
_DIVISIONS = frozenset({"idiv", "irem", "udiv", "urem"})


@cache
def signatures(name: str) -> tuple[Signature, ...]:
    """Every way to use a value op that computes one scalar from scalars and does nothing else."""
    record = TABLE[name]
    effects = Effect.FAULT if name in _DIVISIONS else Effect.PURE
    if record.effects != effects or not record.arity:
        return ()
    rows = [(t,) * record.arity for t in SCALARS]
    if record.arity == 3:
        rows += [(b1, t, t) for t in SCALARS]
    found = [way for row in rows for way in _ways(name, row, {})]
    if not found:
        preds = [{"pred": pred} for pred in _PREDICATES]
        found = [way for row in rows for attrs in preds for way in _ways(name, row, attrs)]
    return tuple(found)


def _ways(name: str, row: tuple[Scalar, ...], attrs: dict[str, Attr]) -> list[Signature]:
    """How ``name`` takes operands of these types: one way, or one for each result it can give."""
    found = []
    for declared in ((), *((t,) for t in SCALARS)):
        op = Op(name, tuple(map(Value, row)), tuple(map(Value, declared)), attrs)
        types = TABLE[name].type_rule(op)
        if isinstance(types, tuple) and len(types) == 1 and isinstance(types[0], Scalar):
            found.append(Signature(name, row, types[0], tuple(attrs.items())))
            if not declared:
                break
    return found


@cache
def usable_ops(scalars: frozenset[Scalar]) -> tuple[tuple[Signature, ...], ...]:
    """For each value op that random kernels use, the ways that need these types only."""
    names = [
        n for n in sorted(TABLE) if not n.endswith("_approx")
    ]  # GPUs have results of their own
    ways = ([w for w in signatures(n) if {*w.operands, w.result} <= scalars] for n in names)
    return tuple(tuple(own) for own in ways if own)


def edges(t: Scalar) -> list[bool | int | float]:
    """Numbers of a type on which code goes wrong; ``Builder.const`` rounds the floats."""
    if t is b1:
        return [False, True]
    if t.is_integer:
        return [0, 1, 2, 3, 7, t.lowest, t.highest, t.highest - 1, max(t.lowest, -1)]
    return [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, math.inf, -math.inf, math.nan, 1e-40, 6e4]


def constants(t: Scalar) -> st.SearchStrategy[bool | int | float]:
    """Numbers of a type, those at its edges more often."""
    common = st.sampled_from(edges(t))
    if t.is_integer:
        return common | st.integers(t.lowest, t.highest)
    return common | st.floats(width=32) if t.is_float else common


def composites(scalars: Sequence[Scalar] = SCALARS) -> st.SearchStrategy[Composite]:
    """Small composite types, structs of structs among them."""
    return SEEDS.map(lambda seed: _composite(Random(seed), scalars, 2))


def _composite(rng: Random, scalars: Sequence[Scalar], depth: int) -> Composite:
    scalar = rng.choice(scalars)
    match rng.randint(0, 5 if depth else 3):
        case 0:
            return Vector(scalar, rng.randint(1, 4))
        case 1:
            return Matrix(scalar, rng.randint(1, 3), rng.randint(1, 3))
        case 2:
            return Quaternion(scalar)
        case 3:
            return Transform(scalar)
    fields = [
        (name, rng.choice(scalars) if rng.random() < 0.5 else _composite(rng, scalars, depth - 1))
        for name in "xyz"[: rng.randint(1, 3)]
    ]
    return Struct(rng.choice(["Pair", "Particle"]), tuple(fields))


@dataclass(frozen=True)
class Shape:
    """What random kernels may contain.

    Attributes:
        size: at most so many statements, nested ones included.
        rank: launch dimensions, 1 or 2; written arrays begin with as many axes, for the thread.
        scalars: types to compute with; b1 and i32 are always among them.
        composites: use vectors, matrices, quaternions, transforms and structs.
        exits: use break, continue and early return.
        faults: indices may be out of bounds, divisors and steps zero.  Without it every access is
            in bounds where each array has, on each axis, the extent of the launch and at least 4.
        atomics: atomics on integer arrays of their own, old values unused.
        function: no arrays and no threads; results are returned (for host calls).
        spans: ops have spans, some of them through inlined calls.
    """

    size: int = 40
    rank: int = 1
    scalars: tuple[Scalar, ...] = SCALARS
    composites: bool = True
    exits: bool = True
    faults: bool = True
    atomics: bool = False
    function: bool = False
    spans: bool = False


@st.composite
def kernels(draw: st.DrawFn, **choices: Any) -> Kernel:
    """Random kernels; keywords as in :class:`Shape`.

    They come from a seed, which spreads better than single draws; a failure shrinks by its size,
    as a smaller kernel of the same seed is the beginning of a larger one.
    """
    shape = Shape(**choices)
    size = draw(st.integers(1, shape.size))
    kernel = _Maker(Random(draw(SEEDS)), shape, size).kernel()
    note(to_text(kernel, spans=shape.spans))
    return kernel


@dataclass
class _Loop:
    """What the innermost loop carries; the first value may be fixed, so that it ends."""

    types: tuple[Type, ...]
    next: Value | None = None


@dataclass
class _Maker:
    """Draws one kernel."""

    rng: Random
    shape: Shape
    left: int
    builder: Builder = field(default_factory=lambda: Builder(TABLE))
    values: list[Value] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    threads: list[Value] = field(default_factory=list)
    readable: list[Value] = field(default_factory=list)
    owned: list[Value] = field(default_factory=list)
    atomic: list[tuple[Value, str]] = field(default_factory=list)
    loops: list[_Loop | None] = field(default_factory=lambda: [None])
    returns: list[tuple[Type, ...]] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)
    elements: list[Type] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    # -- choosing

    def number(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def pick(self, items: Sequence[T]) -> T:
        return self.rng.choice(items)

    def chance(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0

    def constant(self, t: Scalar) -> bool | int | float:
        if self.chance(3) and t.is_integer:
            return self.number(t.lowest, t.highest)
        return self.rng.uniform(-4, 4) if self.chance(3) and t.is_float else self.pick(edges(t))

    def operand(self, t: Type) -> Value:
        """A value of a type: one that is there, or a constant."""
        have = [v for v in self.values if v.type is t]
        if have and not self.chance(6):
            return self.pick(have)
        if isinstance(t, Scalar):
            return self.keep(self.builder.const(t, self.constant(t)))
        parts = [self.operand(leaf) for leaf in leaves(t)]
        return self.keep(self.builder.compose(t, parts))

    def keep(self, value: Value) -> Value:
        if value not in self.values:
            self.values.append(value)
        if self.chance(3):
            self.names[value] = self.pick(["x", "sum", "a.b", "v.1", "größe", "two words"])
        return value

    def some_types(self, most: int = 2) -> tuple[Type, ...]:
        return tuple(self.pick(self.elements) for _ in range(self.number(0, most)))

    # -- the kernel

    def kernel(self) -> Kernel:
        shape = self.shape
        extra = [self.pick(shape.scalars) for _ in range(3)]
        self.scalars = list(dict.fromkeys([b1, i32, *extra]))
        self.elements = list(self.scalars)
        if shape.composites:
            self.elements += [_composite(self.rng, self.scalars, 2) for _ in range(2)]
        if shape.spans:
            call = Span("call.py", 7, 4, 7, 19)
            self.spans = [Span("k.py", n, 4, n + n % 2, 9 + n) for n in range(1, 4)]
            self.spans += [self.spans[0].at_call(call), self.spans[1].at_call(call.at_call(call))]
        params = [Value(self.pick(self.elements)) for _ in range(self.number(0, 3))]
        self.values += params
        if not shape.function:
            params += self.arrays()
        for k, value in enumerate(params):
            self.names[value] = f"p{k}"
        results = self.some_types() if shape.function else ()
        self.returns.append(results)
        self.builder.open()
        rank = 0 if shape.function else shape.rank
        for axis in range(rank):
            (thread,) = self.emit("tid", (), (i32,), axis=axis)
            self.threads.append(thread)
            self.keep(thread)
        if not self.block(0):
            self.leave("return", results)
        body = self.builder.close()
        names = MappingProxyType(self.names)
        span = self.pick([None, *self.spans])
        return Kernel("random", tuple(params), body, results, rank, names, span=span)

    def arrays(self) -> list[Value]:
        read = [Value(Array(self.pick(self.elements), self.number(1, 2))) for _ in range(2)]
        rank = self.shape.rank
        owned = [Value(Array(self.pick(self.elements), rank + self.number(0, 1))) for _ in range(2)]
        self.readable += read
        self.owned += owned
        integers = [t for t in self.scalars if t.is_integer]
        if self.shape.atomics:
            kinds = ("add", "min", "max", "and", "or", "xor")
            self.atomic = [(Value(Array(self.pick(integers), 1)), self.pick(kinds))]
        return [*read, *owned, *(array for array, _ in self.atomic)]

    # -- regions

    def block(self, depth: int) -> bool:
        """Statements; true when the last of them is a terminator already."""
        for _ in range(self.number(2, 6) if depth else self.left):
            if self.left <= 0:
                break
            self.left -= 1
            if self.spans:
                self.builder.span = self.pick([*self.spans, None])
            if self.statement(depth):
                return True
        return False

    def region(self, args: Sequence[Value], fill: Callable[[], None]) -> object:
        """A region with a scope of its own for values and arrays."""
        marks = [(names, len(names)) for names in (self.values, self.readable, self.owned)]
        self.builder.open()
        self.values += args
        fill()
        for names, length in marks:
            del names[length:]
        return self.builder.close(args)

    def statement(self, depth: int) -> bool:
        kinds = [self.compute] * 6 + [self.take_apart]
        if not self.shape.function:
            kinds += [self.load] * 2 + [self.store] * 2 + [self.view, self.local, self.extent]
        if self.atomic:
            kinds.append(self.add_atomically)
        if self.shape.faults:
            kinds.append(self.assertion)
        if depth < 3:
            kinds += [self.branch, self.count, self.repeat, self.inline]
        return bool(self.pick(kinds)(depth))

    def emit(
        self, name: str, operands: Sequence[Value], types: Sequence[Type] = (), **attrs: Attr
    ) -> tuple[Value, ...]:
        return self.builder.emit(name, operands, types, (), **attrs)

    def leave(self, name: str, types: Sequence[Type]) -> None:
        self.emit(name, [self.operand(t) for t in types])

    # -- straight-line statements

    def compute(self, _: int) -> None:
        have = {v.type for v in self.values}
        ways = [self.pick(self.pick(usable_ops(frozenset(self.scalars)))) for _ in range(3)]
        way = max(ways, key=lambda w: len(have.intersection(w.operands)))
        if way.op in _DIVISIONS and not self.shape.faults:
            return
        operands = [self.operand(t) for t in way.operands]
        self.keep(self.emit(way.op, operands, (way.result,), **dict(way.attrs))[0])

    def take_apart(self, _: int) -> None:
        mixed = [t for t in self.elements if not isinstance(t, Scalar)]
        if not mixed:
            return
        t = self.pick(mixed)
        value, leaf = self.operand(t), self.number(0, len(leaves(t)) - 1)
        if self.chance(2):
            self.keep(self.emit("extract", (value,), (leaves(t)[leaf],), leaf=leaf)[0])
        else:
            part = self.operand(leaves(t)[leaf])
            self.keep(self.emit("insert", (value, part), (t,), leaf=leaf)[0])

    def assertion(self, _: int) -> None:
        self.emit("assert", (self.operand(b1),), message="it holds")

    # -- memory

    def index(self) -> Value:
        """One index: anything, or one that is in bounds by the promise of ``Shape.faults``."""
        if self.shape.faults and self.chance(2):
            return self.operand(i32)
        return self.builder.const(self.pick([i32, i64]), self.number(0, 3))

    def own_place(self, array: Value) -> list[Value]:
        assert isinstance(array.type, Array)
        return [*self.threads, *(self.index() for _ in range(array.type.ndim - len(self.threads)))]

    def place(self) -> tuple[Value, list[Value]] | None:
        """An array to read and an index on each axis."""
        arrays = [*self.readable, *self.owned]
        if not arrays:
            return None
        array = self.pick(arrays)
        assert isinstance(array.type, Array)
        if array in self.owned and array.type.space == "global":
            return array, self.own_place(array)
        return array, [self.index() for _ in range(array.type.ndim)]

    def element(self, array: Value) -> tuple[Type, dict[str, Attr]]:
        """What an access moves: the element or, at times, one leaf of it."""
        assert isinstance(array.type, Array)
        own = leaves(array.type.dtype)
        if not self.chance(3):
            return array.type.dtype, {}
        leaf = self.number(0, len(own) - 1)
        return own[leaf], {"leaf": leaf}

    def load(self, _: int) -> None:
        found = self.place()
        if found:
            array, index = found
            t, attrs = self.element(array)
            self.keep(self.emit("load", (array, *index), (t,), **attrs)[0])

    def store(self, _: int) -> None:
        array = self.pick(self.owned)
        assert isinstance(array.type, Array)
        own = array.type.space == "global"
        index = self.own_place(array) if own else [self.index() for _ in range(array.type.ndim)]
        t, attrs = self.element(array)
        self.emit("store", (array, *index, self.operand(t)), (), **attrs)

    def add_atomically(self, _: int) -> None:
        array, kind = self.pick(self.atomic)
        assert isinstance(array.type, Array)
        value = self.operand(array.type.dtype)
        self.emit(f"atomic_{kind}", (array, self.index(), value), (array.type.dtype,))

    def extent(self, _: int) -> None:
        array = self.pick([*self.readable, *self.owned])
        assert isinstance(array.type, Array)
        axis = self.number(0, array.type.ndim - 1)
        t = self.pick([i32, i64])
        self.keep(self.emit("dim", (array,), (t,), axis=axis)[0])

    def local(self, _: int) -> None:
        t = Array(self.pick(self.elements), 1, "local", (self.number(4, 5),))
        self.owned.append(self.emit("alloc", (), (t,))[0])

    def view(self, _: int) -> None:
        """A view of an array that is only read."""
        array = self.pick(self.readable)
        t = array.type
        assert isinstance(t, Array)
        letters = [self.pick("isf") if self.shape.faults else "f" for _ in range(t.ndim)]
        if "s" not in letters:
            letters[-1] = "f"
        operands = [array]
        for letter in letters:
            operands += [self.index() for _ in range({"i": 1, "s": 3, "f": 0}[letter])]
        kept = Array(t.dtype, t.ndim - letters.count("i"))
        self.readable.append(self.emit("subview", operands, (kept,), axes="".join(letters))[0])

    # -- control flow

    def branch(self, depth: int) -> bool:
        condition = self.operand(b1)
        often = 2 if self.loops[-1] else 4
        leaving = [self.shape.exits and self.chance(often), self.shape.exits and self.chance(4)]
        types = () if all(leaving) else self.some_types()
        closed = []

        def arm(leaves: bool) -> Callable[[], None]:
            def fill() -> None:
                ended = self.block(depth + 1)
                if not ended and leaves:
                    self.exit()
                elif not ended:
                    self.leave("yield", types)
                closed.append(ended or leaves)

            return fill

        regions = [self.region((), arm(leaves)) for leaves in leaving]
        if all(closed):
            types = ()
        results = self.builder.emit("if", (condition,), types, regions)
        for value in results:
            self.keep(value)
        if all(closed):
            self.emit("unreachable", ())
        return all(closed)

    def exit(self) -> None:
        loop = self.loops[-1]
        if loop is None or self.chance(4):
            self.leave("return", self.returns[-1])
            return
        name = self.pick(["break", "continue"])
        self.advance(name, loop)

    def advance(self, name: str, loop: _Loop) -> None:
        """A terminator that carries what a loop carries."""
        carried = [self.operand(t) for t in loop.types]
        if loop.next is not None:
            carried[0] = loop.next
        self.emit(name, carried)

    def body(self, depth: int, loop: _Loop) -> None:
        self.loops.append(loop)
        if not self.block(depth + 1):
            self.advance("yield", loop)
        self.loops.pop()

    def count(self, depth: int) -> None:
        b, t = self.builder, self.pick([i32, i64])
        lo, hi = b.const(t, self.number(-2, 3)), b.const(t, self.number(-3, 4))
        if t is i32 and self.chance(2):
            hi = b.op("iand", self.operand(i32), b.const(i32, 3))
        step = b.const(t, self.pick([1, 1, 2, -1, -3, *([0] if self.shape.faults else [])]))
        types = self.some_types()
        start = [self.operand(t) for t in types]
        args = [Value(t), *map(Value, types)]
        region = self.region(args, lambda: self.body(depth, _Loop(types)))
        for value in b.emit("for", (lo, hi, step, *start), types, (region,)):
            self.keep(value)

    def repeat(self, depth: int) -> None:
        b = self.builder
        types = (i32, *self.some_types())
        start = [b.const(i32, 0), *(self.operand(t) for t in types[1:])]

        def condition(args: Sequence[Value]) -> None:
            for _ in range(self.number(0, 2)):
                self.compute(depth)
            more = b.op("icmp", args[0], b.const(i32, self.number(0, 4)), pred="slt")
            if self.chance(2):
                more = b.op("iand", more, self.operand(b1))
            b.emit("yield", (more,))

        def body(args: Sequence[Value]) -> None:
            following = b.op("iadd", args[0], b.const(i32, 1))
            self.body(depth, _Loop(types, following))

        heads = [[Value(t) for t in types] for _ in range(2)]
        first = self.region(heads[0], lambda: condition(heads[0]))
        second = self.region(heads[1], lambda: body(heads[1]))
        for value in b.emit("while", start, types, (first, second)):
            self.keep(value)

    def inline(self, depth: int) -> None:
        types = self.some_types()

        def fill() -> None:
            if not self.block(depth + 1):
                self.leave("return", types)

        self.loops.append(None)
        self.returns.append(types)
        region = self.region((), fill)
        self.loops.pop()
        self.returns.pop()
        for value in self.builder.emit("scope", (), types, (region,)):
            self.keep(value)
