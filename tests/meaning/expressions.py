"""Random expressions of a wanted type, as text."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from heald.types import (
    Array,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    b1,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    leaves,
    u8,
    u16,
    u32,
    u64,
)
from heald.types.promotion import join

VEC3, VEC2D, VEC3I, VEC4UB = Vector(f32, 3), Vector(f64, 2), Vector(i32, 3), Vector(u8, 4)
MAT22, MAT23D = Matrix(f32, 2, 2), Matrix(f64, 2, 3)
INNER = Struct("Inner", (("c", i64), ("w", VEC2D)))
OUTER = Struct("Outer", (("k", i32), ("p", VEC3), ("inner", INNER), ("flag", b1), ("b", u8)))
HOLDER = Struct("Holder", (("gain", f32), ("cells", Array(f32, 1)), ("inner", INNER)))
NAMES: dict[Type, str] = {
    VEC3: "wp.vec3",
    VEC2D: "wp.vec2d",
    VEC3I: "wp.vec3i",
    VEC4UB: "wp.vec4ub",
    MAT22: "wp.mat22",
    MAT23D: "wp.mat23d",
    INNER: "Inner",
    OUTER: "Outer",
    HOLDER: "Holder",
}
NUMBERS = {"ZERO": 0, "TWO": 2, "SEVEN": 7, "HALF": 0.5, "BIG": 100}
"""Numbers that kernels capture."""
SMALL_STRETCHES = ("1:", "::-1", "::2", "-3:", "::3", ":3")


WHOLE = ("A", "C", "F", "V", "Z.cells")
"""Arrays that have an element for each thread, at least where nothing is to fault."""


READABLE = ("read", "free")


def spelled(t: Type) -> str:
    """A type as kernels write it."""
    return f"wp.{t.public}" if isinstance(t, Scalar) else NAMES[t]


@dataclass(frozen=True)
class Knobs:
    """What a kernel may hold.

    Attributes:
        size: statements at the top.
        depth: how deep statements nest.
        functions: how many are inlined.
        faults: indices outside, zero divisors, zero steps and false assertions may happen.
        narrow: 8- and 16-bit integers and u64.
        halves: 16-bit floats.
        composites: vectors, matrices, structs.
        memory: local arrays, views, rows.
        atomics: shared integers.
        randoms: a random state that calls advance.
        climbing: names whose type grows in a loop or where paths merge.
        prints: print statements.
        strict: no fma.
        library: builtins that the oracle does not have.
        wild: infinities, NaN, subnormals and large integers among the inputs.
        rank: dimensions of the launch.
    """

    size: int = 6
    depth: int = 3
    functions: int = 1
    faults: bool = False
    narrow: bool = False
    halves: bool = False
    composites: bool = False
    memory: bool = False
    atomics: bool = False
    randoms: bool = False
    climbing: bool = False
    prints: bool = False
    strict: bool = False
    library: bool = False
    wild: bool = False
    rank: int = 1


@dataclass(frozen=True)
class Variable:
    """A local name and its type; ``block`` is where it was made.

    A ``fixed`` one keeps its type: it was declared, or a loop counts with it.
    """

    name: str
    t: Type
    block: int
    fixed: bool = False


@dataclass(frozen=True)
class Memory:
    """An array name.

    ``access`` is ``read`` (everywhere), ``own`` (the element at ``at`` belongs to the thread),
    ``row`` (every element of row ``at``), ``free`` (every element belongs to the thread) or the
    name of the atomic that all threads may do.
    """

    name: str
    dtype: Type
    ndim: int
    access: str
    at: str = ""
    is_local: bool = False

    @property
    def is_shared(self) -> bool:
        return self.access not in ("read", "own", "row", "free")

    @property
    def is_readable(self) -> bool:
        return not self.is_shared


@dataclass(frozen=True)
class Callee:
    """A function that can be called.

    Its first parameters are a float array that it reads, ``C``, ``B`` and ``i``.
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    results: tuple[Type, ...]
    cost: int
    has_default: bool = False


@dataclass
class Scope:
    """What is visible."""

    variables: list[Variable] = field(default_factory=list)
    arrays: list[Memory] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(list(self.variables), list(self.arrays))


class Expressions:
    """Text of expressions, given what is visible."""

    def __init__(self, r: random.Random, knobs: Knobs) -> None:
        self.r = r
        self.knobs = knobs
        self.scope = Scope()
        self.callees: list[Callee] = []
        self.work = 1
        self.state = ""
        self.whole = [i32, i32, i64, u32] + ([i8, i16, u8, u16, u64] if knobs.narrow else [])
        self.real = [f32, f32, f64] + ([f16, bf16] if knobs.halves else [])
        self.composite: list[Type] = []
        if knobs.composites:
            self.composite = [VEC3, VEC2D, VEC3I, MAT22, INNER, OUTER]
            self.composite += [VEC4UB, MAT23D] if knobs.narrow else []

    # -- choosing

    def chance(self, p: float) -> bool:
        return self.r.random() < p

    def pick(self, *options: tuple[float, Callable[[], str]]) -> str:
        """One of several ways to go on, by weight."""
        return self.r.choices([f for _, f in options], [w for w, _ in options])[0]()

    def any_type(self) -> Type:
        groups: list[tuple[int, list[Type]]] = [(4, [*self.whole]), (4, [*self.real]), (1, [b1])]
        if self.composite:
            groups.append((3, self.composite))
        return self.r.choice(self.r.choices([g for _, g in groups], [w for w, _ in groups])[0])

    def number_type(self) -> Scalar:
        return self.r.choice(self.whole if self.chance(0.5) else self.real)

    def narrower(self, t: Scalar) -> list[Scalar]:
        """Types that become ``t`` next to it."""
        return [s for s in [*self.whole, *self.real, b1] if s is not t and join(s, t) is t]

    # -- leaves

    def literal(self, t: Scalar) -> str:
        """A number that adapts to ``t``."""
        if t is b1:
            return self.r.choice(["True", "False"])
        if self.chance(0.1):
            return self.r.choice([n for n, x in NUMBERS.items() if t.is_float or x != 0.5])
        if t.is_float:
            return self.r.choice(["0.5", "1.25", "-2.0", "3", "0.1", "1", "-0.0", "7.5"])
        if self.chance(0.1):
            return str(self.r.choice([t.lowest, t.highest, t.highest - 1, t.highest // 3]))
        return str(self.r.randint(-3 if t.kind == "i" else 0, 9))

    def constant(self, t: Scalar) -> str:
        """A typed constant."""
        return f"{spelled(t)}({self.literal(t)})"

    def leaf(self, t: Type) -> str:
        """A short expression of type ``t``."""
        names = [v.name for v in self.scope.variables if v.t is t]
        if names and self.chance(0.75):
            return self.r.choice(names)
        if not isinstance(t, Scalar):
            return self.r.choice(names) if names else self.built(t, 9)
        others = [v.name for v in self.scope.variables if isinstance(v.t, Scalar)]
        if others and self.chance(0.5):
            return f"{spelled(t)}({self.r.choice(others)})"
        return self.constant(t)

    # -- any type

    def expr(self, t: Type, d: int = 0) -> str:
        """An expression of type ``t`` that is no bare literal."""
        if d >= 3 or self.chance(0.15 * d):
            return self.leaf(t)
        options: list[tuple[float, Callable[[], str]]] = [
            (2, lambda: self.leaf(t)),
            (1, lambda: self.chosen(t, d)),
            (1.5, lambda: self.load(t, d)),
            (1, lambda: self.called(t, d)),
            (0.7, lambda: self.part(t, d)),
            (0.8, lambda: self.guarded(t, d)),
        ]
        if not isinstance(t, Scalar):
            options.append((2, lambda: self.built(t, d)))
            if not isinstance(t, Struct):
                options.append((3, lambda: self.vector_arithmetic(t, d)))
        elif t is b1:
            options.append((6, lambda: self.truth(d)))
        elif t.is_float:
            options.append((7, lambda: self.real_arithmetic(t, d)))
        else:
            options.append((7, lambda: self.whole_arithmetic(t, d)))
        return self.pick(*options)

    def operand(self, t: Type, d: int) -> str:
        """An expression next to one of type ``t``: of that type, a literal, or a narrower one."""
        if isinstance(t, Scalar):
            if self.chance(0.2):
                return self.literal(t)
            narrower = self.narrower(t)
            if narrower and self.chance(0.15):
                s = self.r.choice(narrower)
                if s is not b1:
                    return self.expr(s, d)
                # Of bools only names: what folds to a literal True does not become a number.
                names = [v.name for v in self.scope.variables if v.t is b1]
                return self.r.choice(names) if names else self.literal(t)
        return self.expr(t, d)

    def pair(self, t: Scalar, d: int) -> tuple[str, str]:
        """Two operands that meet in ``t``, not both literals."""
        a, b = self.expr(t, d), self.operand(t, d)
        return (a, b) if self.chance(0.6) else (b, a)

    def between(self, symbols: str, t: Scalar, d: int) -> str:
        """An operator between two operands."""
        a, b = self.pair(t, d + 1)
        return f"({a} {self.r.choice(symbols.split())} {b})"

    def chosen(self, t: Type, d: int) -> str:
        a, condition = self.expr(t, d + 1), self.condition(d + 1)
        if isinstance(t, Scalar) and self.chance(0.3):
            sides = [self.literal(t), a]
            self.r.shuffle(sides)
            return f"{spelled(t)}({sides[0]} if {condition} else {sides[1]})"
        return f"({a} if {condition} else {self.expr(t, d + 1)})"

    def called(self, t: Type, d: int) -> str:
        fitting = [c for c in self.callees if c.results == (t,) and c.cost * self.work <= 64]
        return self.call(self.r.choice(fitting), d) if fitting else self.leaf(t)

    def call(self, callee: Callee, d: int) -> str:
        """The text of a call; arrays come first."""
        args = [self.argument(t, d + 1) for _, t in callee.parameters]
        if self.chance(0.2):
            args = [f"{n}={x}" for (n, _), x in zip(callee.parameters, args, strict=True)]
        if callee.has_default and self.chance(0.5):
            args.pop()
        here = [m.name for m in self.scope.arrays if m.name in ("A", "S")]
        lent = [
            m.name
            for m in self.scope.arrays
            if m.dtype is f32 and m.ndim == 1 and m.access in READABLE
        ]
        first = self.r.choice(lent) if self.chance(0.4) else here[0]
        return f"{callee.name}({', '.join([first, 'C', 'B', 'i', *args])})"

    def argument(self, t: Type, d: int) -> str:
        return self.operand(t, d) if isinstance(t, Scalar) else self.expr(t, d)

    def guarded(self, t: Type, d: int) -> str:
        """A value that would fault, were it not for the condition in front of it."""
        other = self.literal(t) if isinstance(t, Scalar) else self.leaf(t)
        if isinstance(t, Scalar) and not t.is_float and t is not b1 and self.chance(0.5):
            divisor = self.leaf(t)
            text = f"{self.leaf(t)} {self.r.choice(['//', '%'])} {divisor}"
            chosen = f"({text} if {divisor} != 0 else {other})"
        else:
            fitting = [m for m in self.scope.arrays if m.dtype is t and m.access in READABLE]
            if not fitting:
                return self.leaf(t)
            memory = self.r.choice(fitting)
            at, extent = self.leaf(i32), f"{memory.name}.shape[0]"
            rest = ", 0" * (memory.ndim - 1)
            chosen = f"({memory.name}[{at}{rest}] if 0 <= {at} < {extent} else {other})"
        return f"{spelled(t)}{chosen}" if isinstance(t, Scalar) else chosen

    # -- memory

    def load(self, t: Type, d: int) -> str:
        """An element of an array of ``t``, or a part of one."""
        readable = [m for m in self.scope.arrays if m.is_readable]
        fitting = [m for m in readable if m.dtype is t]
        own = [m for m in fitting if m.access == "own"]
        if own and self.chance(0.4):
            return self.element(self.r.choice(own), d)
        if fitting:
            return self.element(self.r.choice(fitting), d)
        holding = [m for m in readable if parts_of(m.dtype, t)]
        if holding:
            memory = self.r.choice(holding)
            return self.element(memory, d) + self.r.choice(parts_of(memory.dtype, t))
        return self.leaf(t)

    def element(self, memory: Memory, d: int) -> str:
        """An element that the thread may touch."""
        if memory.access == "own":
            return f"{memory.name}[{memory.at}]"
        if memory.access == "row":
            return f"{memory.name}[{memory.at}, {self.index(memory, 1, d)}]"
        at = ", ".join(self.index(memory, axis, d) for axis in range(memory.ndim))
        return f"{memory.name}[{at}]"

    def index(self, memory: Memory, axis: int, d: int) -> str:
        """An index, inside unless faults are allowed."""
        if self.chance(0.15):
            return self.r.choice(["0", "-1"])
        if memory.name in WHOLE and self.chance(0.2):
            return "i"
        if memory.name == "Y" and axis == 1 and self.chance(0.6):
            return "i"  # a column for each thread
        t = self.r.choice([i32, i32, i32, i64, u32] + ([u8, i16] if self.knobs.narrow else []))
        if self.knobs.faults and self.chance(0.12):
            return self.expr(t, d + 1)
        extent = f"{memory.name}.shape[{axis}]"
        if t in (i32, i64):
            return f"({self.expr(t, d + 1)} % {extent})"
        return f"({self.expr(t, d + 1)} % {spelled(t)}({extent}))"

    def stretch(self) -> str:
        """A slice that keeps something of four elements, unless faults are allowed."""
        if self.knobs.faults and self.chance(0.3):
            low, high = self.expr(i32, 2), self.expr(i32, 2)
            return self.r.choice([f"{low}:{high}", f"{low}:", f":{high}:2", f"{low}::-1"])
        more = ("1:4", ":-1", "3:0:-1", "-1:-4:-2", f"({self.expr(i32, 2)} % 3):")
        return self.r.choice([*SMALL_STRETCHES, *more])

    # -- parts

    def part(self, t: Type, d: int) -> str:
        """A component of a composite."""
        holders = [v for v in self.scope.variables if parts_of(v.t, t)]
        if not holders:
            return self.leaf(t)
        holder = self.r.choice(holders)
        if isinstance(holder.t, Matrix) and isinstance(t, Vector) and self.chance(0.5):
            return f"{holder.name}[{self.expr(i32, d + 1)} % {holder.t.rows}]"
        if isinstance(holder.t, (Vector, Matrix)) and isinstance(t, Scalar) and self.chance(0.4):
            return f"{holder.name}[{self.dynamic(holder.t, d)}]"
        return holder.name + self.r.choice(parts_of(holder.t, t))

    def dynamic(self, t: Vector | Matrix, d: int) -> str:
        """Component indices, some of them at run time."""
        out = []
        for extent in t.shape:
            if self.chance(0.3):
                out.append(str(self.r.randrange(extent)))
            elif self.knobs.faults and self.chance(0.15):
                out.append(f"({self.expr(i32, d + 1)} + i)")  # a constant outside is refused
            else:
                out.append(f"({self.expr(i32, d + 1)} % {extent})")
        return ", ".join(out)

    # -- numbers

    def whole_arithmetic(self, t: Scalar, d: int) -> str:
        return self.pick(
            (5, lambda: self.between("+ - * & | ^", t, d)),
            (1, lambda: self.fused(t, d)),
            (2, lambda: self.division(t, d)),
            (1, lambda: self.shift(t, d)),
            (1, lambda: f"({self.r.choice('-~')}{self.expr(t, d + 1)})"),
            (1, lambda: self.applied(t, d, ["abs", "min", "max"])),
            (0.4, lambda: f"({self.expr(t, d + 1)} ** {self.r.randint(0, 4)})"),
            (2, lambda: self.conversion(t, d)),
            (1.5, lambda: self.random_number(t)),
        )

    def division(self, t: Scalar, d: int) -> str:
        if self.chance(0.5):
            divisor = str(self.r.choice([1, 2, 3, 5, 7, 16] + ([-1, -4] if t.kind == "i" else [])))
        elif self.knobs.faults and self.chance(0.5):
            divisor = self.expr(t, d + 1)
        else:
            divisor = f"({self.expr(t, d + 1)} | 1)"
        return f"({self.expr(t, d + 1)} {self.r.choice(['//', '%'])} {divisor})"

    def shift(self, t: Scalar, d: int) -> str:
        count = str(self.r.randrange(t.bits))
        if self.chance(0.5):
            count = self.expr(self.r.choice(self.whole), 2)
        return f"({self.expr(t, d + 1)} {self.r.choice(['<<', '>>'])} {count})"

    def applied(self, t: Scalar, d: int, names: list[str]) -> str:
        """A call of a builtin."""
        name = self.r.choice(names)
        prefix = self.r.choice(["wp.", ""]) if name in ("abs", "min", "max") else "wp."
        if name not in ("min", "max"):
            return f"{prefix}{name}({self.expr(t, d + 1)})"
        args = [*self.pair(t, d + 1)]
        if not prefix and self.chance(0.2):
            args.append(self.expr(t, d + 1))
        return f"{prefix}{name}({', '.join(args)})"

    def conversion(self, t: Scalar, d: int) -> str:
        source = self.r.choice([*self.whole, *self.real, b1])
        name = {i32: "int", f32: "float"}.get(t, spelled(t)) if self.chance(0.5) else spelled(t)
        return f"{name}({self.expr(source, d + 1)})"

    def random_number(self, t: Scalar) -> str:
        if not self.state or t not in (i32, u32):
            return self.leaf(t)
        return f"wp.{'randi' if t is i32 else 'randu'}({self.state})"

    def real_arithmetic(self, t: Scalar, d: int) -> str:
        names = ["abs", "sqrt", "floor", "ceil", "trunc", "rint", "min", "max"]
        if self.knobs.library and t in (f32, f64) and self.chance(0.3):
            return self.applied(t, d, ["sin", "cos", "exp", "log", "tanh", "round", "frac"])
        return self.pick(
            (5, lambda: self.between("+ - * / *", t, d)),
            (3, lambda: self.fused(t, d)),
            (0.5, lambda: self.between("// %", t, d)),
            (0.6, lambda: f"(-{self.expr(t, d + 1)})"),
            (1.5, lambda: self.applied(t, d, names)),
            (0.3, lambda: f"({self.expr(t, d + 1)} ** 2)"),
            (1.5, lambda: self.conversion(t, d)),
        )

    def fused(self, t: Type, d: int) -> str:
        """A sum with a product on one side, or on both."""
        product = self.product(t, d)
        other = self.product(t, d) if self.chance(0.2) else self.operand(t, d + 1)
        sides = [product, other]
        self.r.shuffle(sides)
        return f"({sides[0]} {self.r.choice('+-')} {sides[1]})"

    def product(self, t: Type, d: int) -> str:
        if isinstance(t, Scalar):
            return "{} * {}".format(*self.pair(t, d + 1))
        assert isinstance(t, (Vector, Matrix))
        factors = [self.expr(t, d + 1), self.operand(t.dtype, d + 1)]
        self.r.shuffle(factors)
        return f"{factors[0]} * {factors[1]}"

    # -- truth

    def truth(self, d: int) -> str:
        def several(t: Scalar) -> str:
            return f"({self.expr(t, d + 1)} {self.r.choice('&|^')} {self.expr(t, d + 1)})"

        return self.pick(
            (5, lambda: self.comparison(d)),
            (1.5, lambda: self.chain(d)),
            (2, lambda: self.joined(lambda: self.expr(b1, d + 1))),
            (1, lambda: f"(not {self.condition(d + 1)})"),
            (0.7, lambda: several(b1)),
            (0.4, lambda: f"(~{self.expr(b1, d + 1)})"),
            (0.5, lambda: f"bool({self.expr(self.number_type(), d + 1)})"),
        )

    def comparison(self, d: int) -> str:
        if self.composite and self.chance(0.1):
            t = self.r.choice([c for c in self.composite if not isinstance(c, Struct)])
            return f"({self.expr(t, d + 1)} {self.r.choice(['==', '!='])} {self.expr(t, d + 1)})"
        return self.between("< <= > >= == !=", self.number_type(), d)

    def chain(self, d: int) -> str:
        """Comparisons in a row; of two neighbours one is no literal."""
        t = self.number_type()
        text, was_literal = (
            (self.literal(t), True) if self.chance(0.3) else (self.expr(t, d + 1), False)
        )
        for _ in range(self.r.randint(2, 3)):
            was_literal = not was_literal and self.chance(0.3)
            right = self.literal(t) if was_literal else self.expr(t, d + 1)
            text += f" {self.r.choice(['<', '<=', '>', '>=', '==', '!='])} {right}"
        return f"({text})"

    def joined(self, part: Callable[[], str]) -> str:
        word = self.r.choice([" and ", " or "])
        return f"({word.join(part() for _ in range(2 if self.chance(0.8) else 3))})"

    def condition(self, d: int = 0) -> str:
        """What may stand behind ``if``: also a number, and ``and`` of numbers."""
        if self.state and self.chance(0.2):
            return f"wp.randi({self.state}) % {self.r.randint(2, 3)} == 0"
        if self.chance(0.15):
            return self.expr(self.number_type(), d + 1)
        if d < 3 and self.chance(0.1):
            return self.joined(lambda: f"({self.condition(d + 1)})")
        return self.expr(b1, d)

    # -- composites

    def built(self, t: Type, d: int) -> str:
        """A constructor call."""
        if self.chance(0.1):
            return f"{spelled(t)}()"
        if isinstance(t, Struct):
            if self.chance(0.3):
                name, field_type = self.r.choice(t.fields)
                return f"{spelled(t)}({name}={self.expr(field_type, d + 1)})"
            return f"{spelled(t)}({', '.join(self.argument(f, d + 1) for _, f in t.fields)})"
        assert isinstance(t, (Vector, Matrix))
        if self.chance(0.2):
            return f"{spelled(t)}({self.expr(t.dtype, d + 1)})"
        parts = [self.operand(t.dtype, d + 1) for _ in range(len(leaves(t)))]
        return f"{spelled(t)}({', '.join(parts)})"

    def vector_arithmetic(self, t: Type, d: int) -> str:
        assert isinstance(t, (Vector, Matrix))
        own = t.dtype
        scale = "*/" if own.is_float else "*"

        def scaled() -> str:
            return f"({self.expr(t, d + 1)} {self.r.choice(scale)} {self.operand(own, d + 1)})"

        if self.knobs.library and isinstance(t, Vector) and t.dtype.is_float and self.chance(0.3):
            if t.length == 3 and self.chance(0.5):
                return f"wp.cross({self.expr(t, d + 1)}, {self.expr(t, d + 1)})"
            name = self.r.choice(["normalize", "cw_mul", "abs", "min"])
            args = [self.expr(t, d + 1) for _ in range(1 if name in ("normalize", "abs") else 2)]
            return f"wp.{name}({', '.join(args)})"

        def fused() -> str:
            sides = [self.product(t, d), self.expr(t, d + 1)]
            self.r.shuffle(sides)
            return f"({sides[0]} {self.r.choice('+-')} {sides[1]})"

        return self.pick(
            (3, lambda: f"({self.expr(t, d + 1)} {self.r.choice('+-')} {self.expr(t, d + 1)})"),
            (2, scaled),
            (1, lambda: f"({self.operand(own, d + 1)} * {self.expr(t, d + 1)})"),
            (3, fused),
            (0.5, lambda: f"(-{self.expr(t, d + 1)})"),
        )


def parts_of(whole: Type, t: Type) -> list[str]:
    """The paths to parts of type ``t``."""
    match whole:
        case Struct(fields=fields):
            out = [f".{name}" for name, f in fields if f is t]
            return out + [f".{name}{rest}" for name, f in fields for rest in parts_of(f, t)]
        case Vector(dtype=dtype, length=length) if dtype is t:
            return [f".{'xyzw'[k]}" for k in range(length)] + [f"[{k}]" for k in range(length)]
        case Matrix(dtype=dtype, rows=rows, cols=cols):
            if dtype is t:
                return [f"[{r}, {c}]" for r in range(rows) for c in range(cols)]
            if Vector(dtype, cols) is t:
                return [f"[{r}]" for r in range(rows)]
    return []
