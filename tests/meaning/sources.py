"""Random structured kernels as Python source text, the same for the same seed.

Every thread writes only elements of its own, and integers by atomics whose order cannot be seen, so
what a launch leaves behind does not depend on the order of threads.  Every expression is written so
that its type is known here; ``# climbs`` and ``# returns`` lines tell the oracle the types that
only a merge decides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from meaning import loops
from meaning.expressions import (
    HOLDER,
    INNER,
    NUMBERS,
    VEC2D,
    VEC3,
    Callee,
    Expressions,
    Knobs,
    Memory,
    Scope,
    Variable,
    parts_of,
    spelled,
)

from heald.types import Matrix, Scalar, Struct, Type, Vector, b1, f32, f64, i16, i32, i64, u32

STRUCTS = """@wp.struct
class Inner:
    c: wp.int64
    w: wp.vec2d


@wp.struct
class Outer:
    k: int
    p: wp.vec3
    inner: Inner
    flag: bool
    b: wp.uint8


@wp.struct
class Holder:
    gain: float
    cells: wp.array(dtype=float)
    inner: Inner


"""
HEADER = "".join(f"{name} = {value}\n" for name, value in NUMBERS.items()) + "\n\n"
COLUMNS = 5
"""Columns of ``OF`` and ``OI``, which take the last values of variables."""
DIMS = {1: (12,), 2: (3, 4), 3: (2, 3, 2)}
"""Launch extents by rank; twelve threads each."""


def knobs_of(seed: int) -> Knobs:
    """The knobs of a seed."""
    r = random.Random(f"knobs {seed}")

    def maybe(chance: float) -> bool:
        return r.random() < chance

    return Knobs(
        size=r.randint(3, 7) if maybe(0.95) else 14,
        depth=r.randint(2, 3) if maybe(0.95) else 4,
        functions=r.choice([0, 1, 1, 2]),
        faults=maybe(0.3),
        narrow=maybe(0.4),
        halves=maybe(0.1),
        composites=maybe(0.5),
        memory=maybe(0.5),
        atomics=maybe(0.4),
        randoms=maybe(0.3),
        climbing=maybe(0.3),
        prints=maybe(0.15),
        strict=maybe(0.1),
        library=maybe(0.1),
        wild=maybe(0.5),
        rank=r.choice([1, 1, 1, 2, 3]),
    )


@dataclass(frozen=True)
class Source:
    """A kernel named ``k`` and the functions and structs that it uses.

    ``B`` and ``P`` may be one array, and all others lie apart.
    """

    text: str
    knobs: Knobs


def generate(seed: int, knobs: Knobs | None = None) -> Source:
    """The kernel of a seed."""
    return Writer(random.Random(f"source {seed}"), knobs or knobs_of(seed)).source()


class Writer(Expressions):
    """Statements, functions and the kernel."""

    def __init__(self, r: random.Random, knobs: Knobs) -> None:
        super().__init__(r, knobs)
        self.lines: list[str] = []
        self.notes: list[str] = []
        self.indent = 1
        self.blocks = 0
        self.block = 0
        self.loops = 0
        self.counter = 0
        self.retired: list[tuple[str, Type]] = []
        self.reused: set[str] = set()
        self.function_name = "k"
        self.results: tuple[Type, ...] | None = None
        self.early: Scalar | None = None

    # -- text and names

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def fresh(self, prefix: str) -> str:
        """A new name."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def fresh_variable(self, t: Type) -> str:
        """A new name, or one that was used where nobody sees it: in a loop of the same type."""
        known = [n for n, old in self.retired if not self.loops or old is t]
        if known and self.chance(0.15):
            name = self.r.choice(known)
            self.retired = [(n, old) for n, old in self.retired if n != name]
            self.reused.add(name)
            return name
        return self.fresh("v")

    def declare(self, name: str, t: Type, *, fixed: bool = False) -> None:
        others = [v for v in self.scope.variables if v.name != name]
        self.scope.variables = [*others, Variable(name, t, self.block, fixed)]

    def assignable(self) -> list[Variable]:
        return [v for v in self.scope.variables if v.name[0] == "v"]

    @contextmanager
    def nested(self) -> Iterator[None]:
        """An indented block with names of its own."""
        scope, block = self.scope, self.block
        self.scope = scope.copy()
        self.blocks += 1
        self.block = self.blocks
        self.indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.write("pass")
        self.indent -= 1
        seen = {v.name for v in scope.variables}
        gone = [v for v in self.scope.variables if v.name not in seen and not v.fixed]
        self.retired += [(v.name, v.t) for v in gone if v.name[0] == "v"]
        self.scope, self.block = scope, block

    @contextmanager
    def stateless(self) -> Iterator[None]:
        """Without random numbers: the oracle evaluates this in a lambda."""
        state, self.state = self.state, ""
        yield
        self.state = state

    # -- statements

    def body(self, depth: int, count: int) -> None:
        for _ in range(count):
            if self.statement(depth):
                return

    def statement(self, depth: int) -> bool:
        """Write one; True where control does not go on behind it."""
        if depth and self.chance(0.12):
            self.leave()
            return True
        options: list[tuple[float, Callable[[], None]]] = [
            (5, self.new_variable),
            (4, self.set_variable),
            (4, self.augmented),
            (1, self.swap),
            (3, self.set_part),
            (4, self.store),
            (4 if self.loops else 1, self.accumulate),
            (1, self.call_statement),
        ]
        if self.knobs.memory:
            options += [(1, self.local_array), (1.5, self.view)]
        if self.knobs.atomics:
            options.append((2, self.atomic))
        if self.state:
            options.append((2, self.draw))
        if self.knobs.prints:
            options.append((1, self.print_statement))
        if self.knobs.faults:
            options.append((0.3, lambda: self.write(f"assert {self.condition()}")))
        if depth < self.knobs.depth:
            options += [(7, lambda: self.branch(depth)), (1, lambda: self.both_arms(depth))]
            options.append((1, lambda: loops.bounded(self, depth)))
            if self.loops < 2:
                options.append((1.5, lambda: loops.sweep(self)))
                options += [
                    (4, lambda: loops.counted(self, depth)),
                    (2.5, lambda: loops.repeat(self, depth)),
                ]
                options.append((0.6, lambda: loops.unrolled(self, depth)))
                if self.knobs.climbing:
                    options.append((2, lambda: loops.climb(self)))
        self.r.choices([f for _, f in options], [w for w, _ in options])[0]()
        return False

    def leave(self) -> None:
        """Break, continue or return."""
        word = self.r.choice(["return"] + ["break", "continue"] * (2 if self.loops else 0))
        if word == "return" and self.results:
            self.write(self.returned())
        else:
            self.write(word)

    def returned(self) -> str:
        """An early return; its type may be narrower than that of the last one.

        All narrower ones have one type: two such as int16 and uint8 would not merge.
        """
        assert self.results is not None
        (first, *rest) = self.results
        if not rest and isinstance(first, Scalar) and self.chance(0.3):
            narrower = [s for s in self.narrower(first) if s is not b1]
            if first is i32 and self.chance(0.5):
                return f"return {self.literal(i32)}"
            if narrower:
                chosen = self.r.choice(narrower)
                self.early = self.early or chosen
                return f"return {self.expr(self.early, 1)}"
        return f"return {', '.join(self.expr(t, 1) for t in self.results)}"

    # -- assignments

    def new_variable(self) -> None:
        t = self.any_type()
        kind = self.r.random()
        if kind < 0.1 and isinstance(t, Scalar):
            name = self.fresh("v")
            self.write(f"{name}: {spelled(t)} = {self.literal(t)}")
            self.declare(name, t, fixed=True)
            return
        value = self.expr(t)
        if kind < 0.25 and t in (i32, f32, b1):
            value = self.r.choice(["0.5", "-2.0", "1e-3"]) if t is f32 else self.literal(t)
        name = self.fresh_variable(t)
        self.write(f"{name} = {value}")
        self.declare(name, t, fixed=name in self.reused)

    def set_variable(self) -> None:
        names = self.assignable()
        if not names:
            self.new_variable()
            return
        v = self.r.choice(names)
        same = [w.name for w in names if w.t is v.t and w.name != v.name]
        if v.block == self.block and not v.fixed and self.chance(0.15):
            t = self.any_type()
            self.write(f"{v.name} = {self.expr(t)}")
            self.declare(v.name, t)
        elif same and self.chance(0.1):
            self.write(f"{self.r.choice(same)} = {v.name} = {self.expr(v.t)}")
        else:
            self.write(f"{v.name} = {self.expr(v.t)}")

    def augmented(self) -> None:
        names = [v for v in self.assignable() if not isinstance(v.t, Struct)]
        if not names:
            self.new_variable()
            return
        v = self.r.choice(names)
        self.write(f"{v.name} {self.updated(v.t)}")

    def updated(self, t: Type) -> str:
        """``op= value`` that keeps type ``t``, which is no struct."""
        if isinstance(t, (Vector, Matrix)):
            if self.chance(0.3):
                return f"*= {self.operand(t.dtype, 1)}"
            value = self.product(t, 1) if self.chance(0.5) else self.expr(t, 1)
            return f"{self.r.choice('+-')}= {value}"
        assert isinstance(t, Scalar)
        if t is b1:
            return f"{self.r.choice('&|^')}= {self.expr(b1, 1)}"
        if self.chance(0.4):
            return f"{self.r.choice('+-')}= {self.product(t, 1)}"
        if t.is_float:
            return f"{self.r.choice('+-*/')}= {self.operand(t, 1)}"
        op = self.r.choice(["+", "-", "*", "&", "|", "^", "<<", ">>", "//", "%"])
        if op in ("//", "%"):
            return f"{op}= {self.r.choice(['3', '7', f'({self.expr(t, 1)} | 1)'])}"
        if op in ("<<", ">>"):
            return f"{op}= {self.r.randrange(t.bits)}"
        return f"{op}= {self.operand(t, 1)}"

    def swap(self) -> None:
        names = self.assignable()
        groups = [[w.name for w in names if w.t is v.t] for v in names]
        groups = [g for g in groups if len(g) > 1]
        if not groups:
            self.new_variable()
            return
        a, b = self.r.sample(self.r.choice(groups), 2)
        self.write(f"{a}, {b} = {b}, {a}")

    def set_part(self) -> None:
        """A component or field of a local composite."""
        names = [v for v in self.assignable() if not isinstance(v.t, Scalar)]
        if not names:
            self.set_variable()
            return
        v = self.r.choice(names)
        self.write_part(v.name, v.t, is_memory=False)

    def write_part(self, root: str, t: Type, *, is_memory: bool) -> None:
        """``root.part = value`` or ``op= value``."""
        kinds: list[Type] = [*self.whole, *self.real, b1, VEC3, VEC2D, INNER]
        wanted = [s for s in kinds if parts_of(t, s)]
        with self.stateless():
            if not wanted:
                self.write(f"{root} = {self.expr(t, 1)}")
                return
            s = self.r.choice(wanted)
            path = self.r.choice(parts_of(t, s))
            dynamic = isinstance(s, Scalar) and self.chance(0.35)
            if isinstance(t, Matrix) and isinstance(s, Vector) and self.chance(0.5):
                dynamic, path = True, f"[{self.expr(i32, 2)} % {t.rows}]"
            elif dynamic and isinstance(t, (Vector, Matrix)):
                path = f"[{self.dynamic(t, 1)}]"
            update = "" if isinstance(s, Struct) or self.chance(0.5) else self.updated(s)
            if is_memory and dynamic and update and update[0] in "+-&|^":
                update = ""  # an atomic on a component chosen at run time is refused
            self.write(f"{root}{path} {update or '= ' + self.operand(s, 1)}")

    # -- memory

    def store(self) -> None:
        """Into the thread's own element, or anywhere in a local array."""
        options = [m for m in self.scope.arrays if m.access in ("own", "row", "free")]
        memory = self.r.choice(options)
        t = memory.dtype
        with self.stateless():
            at = self.element(memory, 1)
            if not isinstance(t, Scalar) and self.chance(0.6):
                self.write_part(at, t, is_memory=not memory.is_local)
                return
            update = "" if isinstance(t, Struct) or self.chance(0.6) else self.updated(t)
            self.write(f"{at} {update or '= ' + self.operand(t, 1)}")

    def accumulate(self) -> None:
        """The thread's own element from itself, read and written apart."""
        own = [
            m for m in self.scope.arrays if m.access == "own" and not isinstance(m.dtype, Struct)
        ]
        memory, source = self.r.choice(own), self.r.choice(own)
        if source.dtype is not memory.dtype:
            source = memory
        t = memory.dtype
        read, write = f"{source.name}[{source.at}]", f"{memory.name}[{memory.at}]"
        if t is b1:
            self.write(f"{write} = {read} ^ {self.expr(t, 1)}")
        elif isinstance(t, Scalar) and t.is_float:
            self.write(f"{write} = {read} * {self.operand(t, 2)} + {self.expr(t, 1)}")
        else:
            self.write(f"{write} = {read} {self.r.choice('+-')} {self.expr(t, 1)}")

    def local_array(self) -> None:
        t = self.r.choice([*self.whole, *self.real, *self.composite])
        extents = (self.r.randint(2, 5),) if self.chance(0.75) else (2, 3)
        name = self.fresh("L")
        shape = str(extents[0]) if len(extents) == 1 else str(extents)
        self.write(f"{name} = wp.zeros(shape={shape}, dtype={spelled(t)})")
        self.scope.arrays.append(Memory(name, t, len(extents), "free", is_local=True))

    def view(self) -> None:
        """A view of what may be read everywhere, or a row that the thread owns."""
        names = "AFGLRSVYZ" + ("W" if self.knobs.faults else "")
        options = [m for m in self.scope.arrays if m.name[0] in names]
        memory = self.r.choice(options)
        name = self.fresh("W")
        if memory.access == "row":
            text, access = memory.at, "free"
        else:
            access = memory.access
            row, column = self.index(memory, 0, 1), self.index(memory, 1, 1)
            rows = [row, f":, {column}", f"{row}, {self.stretch()}", f"{self.stretch()}, {column}"]
            if memory.name == "Y" and self.chance(0.5):
                rows = [":, i"]
            text = self.r.choice(rows) if memory.ndim == 2 else self.stretch()
        self.write(f"{name} = {memory.name}[{text}]")
        self.scope.arrays.append(Memory(name, memory.dtype, 1, access, is_local=memory.is_local))

    def atomic(self) -> None:
        """On shared integers; the old value is seen only where the element is the thread's own."""
        own = [m for m in self.scope.arrays if m.access == "own" and m.dtype in (i32, i64, u32)]
        if own and self.chance(0.3):
            memory = self.r.choice(own)
            kind = self.r.choice(["add", "sub", "min", "max", "and", "or", "xor"])
            value = self.operand(memory.dtype, 1)
            name = self.fresh_variable(memory.dtype)
            self.write(f"{name} = wp.atomic_{kind}({memory.name}, {memory.at}, {value})")
            self.declare(name, memory.dtype, fixed=name in self.reused)
            return
        shared = [m for m in self.scope.arrays if m.is_shared]
        if not shared:
            self.store()
            return
        memory = self.r.choice(shared)
        symbol = {"add": "+", "xor": "^", "or": "|", "and": "&"}.get(memory.access)
        with self.stateless():
            at, value = self.index(memory, 0, 1), self.operand(memory.dtype, 1)
            if symbol and self.chance(0.5):
                self.write(f"{memory.name}[{at}] {symbol}= {value}")
            else:
                self.write(f"wp.atomic_{memory.access}({memory.name}, {at}, {value})")

    def draw(self) -> None:
        """A random number, seen by itself."""
        t = self.r.choice([i32, u32])
        name = self.fresh_variable(t)
        self.write(f"{name} = {self.random_number(t)} % 11")
        self.declare(name, t, fixed=name in self.reused)

    def print_statement(self) -> None:
        shown = [self.expr(self.any_type(), 1) for _ in range(self.r.randint(1, 3))]
        self.write(f"print('at 100%', {', '.join(shown)})")

    def call_statement(self) -> None:
        fitting = [c for c in self.callees if c.cost * self.work <= 64 and len(c.results) != 1]
        if not fitting:
            self.new_variable()
            return
        callee = self.r.choice(fitting)
        text = self.call(callee, 1)
        if not callee.results:
            self.write(text)
            return
        names = [self.fresh("v") for _ in callee.results]
        self.write(f"{', '.join(names)} = {text}")
        for name, t in zip(names, callee.results, strict=True):
            self.declare(name, t)

    # -- branches

    def branch(self, depth: int) -> None:
        self.write(f"if {self.condition()}:")
        with self.nested():
            self.body(depth + 1, self.r.randint(1, 3))
        while self.chance(0.2):
            self.write(f"elif {self.condition()}:")
            with self.nested():
                self.body(depth + 1, self.r.randint(1, 2))
        if self.chance(0.5):
            self.write("else:")
            with self.nested():
                self.body(depth + 1, self.r.randint(1, 3))

    def both_arms(self, depth: int) -> None:
        """A name that is set first in both arms, and seen behind them; its type may differ."""
        t = self.any_type()
        name, first, head = self.fresh("v"), t, self.condition()
        narrower = {i32: i16, i64: i32, f64: f32, f32: i32}
        if self.knobs.climbing and t in narrower and isinstance(t, Scalar) and self.chance(0.5):
            first, head = narrower[t], f"i < {self.expr(i32, 1)}"  # not known at compile time
            self.notes.append(f"# climbs {self.function_name}.{name} {t.public}")
        for line, own in ((f"if {head}:", first), ("else:", t)):
            self.write(line)
            with self.nested():
                self.write(f"{name} = {self.expr(own, 1)}")
                if own is t:
                    self.declare(name, t, fixed=True)
                self.body(depth + 1, self.r.randint(0, 1))
        self.declare(name, t, fixed=True)

    @contextmanager
    def loop(self, trips: int) -> Iterator[None]:
        """The body of a loop that runs up to ``trips`` times."""
        self.work *= trips
        self.loops += 1
        with self.nested():
            yield
        self.loops -= 1
        self.work //= trips

    def straight(self) -> None:
        """Statements that go on to the next."""
        for _ in range(self.r.randint(0, 2)):
            self.r.choice([self.new_variable, self.set_variable, self.augmented, self.store])()

    # -- functions and the kernel

    def function(self, number: int) -> None:
        """A function over the same arrays; it sees nothing else of the kernel."""
        self.function_name = f"f{number}"
        types = [self.any_type() for _ in range(self.r.randint(1, 3))]
        has_default = self.chance(0.3)
        if has_default:
            types[-1] = self.number_type()
        count = self.r.choice([0, 1, 1, 1, 2])
        self.results = tuple(self.any_type() for _ in range(count))
        self.early = None
        names = [f"v{self._next()}" for _ in types]
        self.scope = Scope(
            [Variable("i", i32, -1)],
            [
                Memory("S", f32, 1, "read"),
                Memory("C", i32, 1, "read"),
                Memory("B", f32, 1, "own", "i"),
            ],
        )
        self.block, self.retired = 0, []
        for name, t in zip(names, types, strict=True):
            self.declare(name, t)
        pairs = tuple(zip(names, types, strict=True))
        own = [f"{n}: {spelled(t)}" for n, t in pairs]
        if has_default:
            own[-1] += f" = {self.r.choice(['3', 'TWO', '1'])}"
        arrays = "S: wp.array(dtype=float), C: wp.array(dtype=int), B: wp.array(dtype=float)"
        self.indent = 0
        self.write("@wp.func")
        self.write(f"def {self.function_name}({', '.join([arrays, 'i: int', *own])}):")
        self.indent = 1
        self.body(0, self.r.randint(1, 4))
        if self.results:
            self.write(f"return {', '.join(self.expr(t, 1) for t in self.results)}")
        if len(self.results) == 1:
            (t,) = self.results
            if isinstance(t, Scalar):
                self.notes.append(f"# returns {self.function_name} {t.public}")
        if self.lines[-1].startswith("def"):
            self.write("pass")
        self.lines += ["", ""]
        self.callees.append(Callee(self.function_name, pairs, self.results, 8, has_default))

    def _next(self) -> int:
        self.counter += 1
        return self.counter

    def parameters(self) -> list[Memory]:
        """The arrays of the kernel."""
        out = [
            Memory("A", f32, 1, "read"),
            Memory("C", i32, 1, "read"),
            Memory("B", f32, 1, "own", "i"),
            Memory("D", self.r.choice([*self.whole, *self.real, b1]), 1, "own", "i"),
        ]
        if self.chance(0.3):
            out.append(Memory("P", f32, 1, "own", "i"))
        if self.chance(0.4):
            out.append(Memory("F", self.r.choice([*self.whole, *self.real]), 1, "read"))
        if self.knobs.memory:
            out += [Memory("G", f64, 2, "read"), Memory("R", f32, 2, "row", "i")]
            if self.chance(0.4):
                out.append(Memory("Y", f32, 2, "read"))
        if self.composite:
            out += [
                Memory("Z.cells", f32, 1, "read"),
                Memory("V", self.r.choice(self.composite), 1, "read"),
                Memory("E", self.r.choice(self.composite), 1, "own", "i"),
            ]
        if self.knobs.atomics:
            kinds = ["add", "and", "or", "xor", "min", "max"]
            out.append(Memory("H", i32, 1, "add"))
            out.append(Memory("X", self.r.choice(self.whole), 1, self.r.choice(kinds)))
        return out

    def kernel(self) -> None:
        self.function_name, self.results = "k", None
        arrays = self.parameters()
        values = [("n", i32), ("s", self.r.choice(self.real))]
        if self.composite:
            values.append(("q", self.r.choice(self.composite)))  # type: ignore[arg-type]
        header = [
            f"{m.name}: wp.array(dtype={spelled(m.dtype)}, ndim={m.ndim})"
            if "." not in m.name
            else "Z: Holder"
            for m in arrays
        ]
        header += ["OF: wp.array(dtype=wp.float64, ndim=2)", "OI: wp.array(dtype=wp.int64, ndim=2)"]
        header += [f"{name}: {spelled(t)}" for name, t in values]
        self.indent = 0
        self.write("@wp.kernel")
        self.write(f"def k({', '.join(header)}):")
        self.indent = 1
        rank = self.knobs.rank
        names = ["i"] if rank == 1 else ["ti", "tj", "tk"][:rank]
        self.write(f"{', '.join(names)} = wp.tid()")
        if rank > 1:
            self.write("i = " + ("ti * 4 + tj" if rank == 2 else "(ti * 3 + tj) * 2 + tk"))
        self.scope = Scope([], arrays)
        self.block, self.retired = 0, []
        for name, t in [*((n, i32) for n in dict.fromkeys([*names, "i"])), *values]:
            self.declare(name, t)
        if self.composite:
            self.declare("Z", HOLDER, fixed=True)
        if self.knobs.randoms:
            self.state = "st"
            self.write("st = wp.rand_init(i)")
        self.prelude()
        self.body(0, self.knobs.size)
        self.keep()

    def prelude(self) -> None:
        """Variables with values from memory, which nothing knows at compile time."""
        for _ in range(self.r.randint(2, 4)):
            t = self.any_type()
            direct = [m for m in self.scope.arrays if m.is_readable and m.dtype is t]
            if direct or not isinstance(t, Scalar):
                value = self.load(t, 2)
            elif t.is_float:
                value = f"{spelled(t)}(A[i]) * {self.r.choice(['0.1', 'HALF', '3', '1.25'])}"
            elif t is b1:
                value = f"A[i] < {self.expr(f32, 2)}"
            else:
                value = f"{spelled(t)}(C[i]) {self.r.choice('+-*')} {self.operand(t, 2)}"
            name = self.fresh("v")
            self.write(f"{name} = {value}")
            self.declare(name, t)

    def keep(self) -> None:
        """Write the last values of variables where the test sees them."""
        counts = {"OF": 0, "OI": 0}
        for v in [v for v in self.scope.variables if v.name[0] in "vkw"][::-1]:
            paths = [""] if isinstance(v.t, Scalar) else []
            for t in [*self.whole, *self.real]:
                paths += [p for p in parts_of(v.t, t) if p not in paths][:2]
            for path in paths:
                t = v.t if not path else None
                real = t.is_float if isinstance(t, Scalar) else self.chance(0.5)
                name, cast = ("OF", "wp.float64") if real else ("OI", "wp.int64")
                if counts[name] < COLUMNS:
                    self.write(f"{name}[i, {counts[name]}] = {cast}({v.name}{path})")
                    counts[name] += 1

    def source(self) -> Source:
        structs = HEADER + (STRUCTS if self.composite else "")
        for number in range(self.knobs.functions):
            self.function(number)
        self.kernel()
        notes = "\n".join(self.notes)
        text = structs + "\n".join(self.lines) + "\n" + notes + "\n"
        return Source(text, self.knobs)
