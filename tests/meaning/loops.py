"""Loops, and indices that are compared with an extent before they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heald.types import Scalar, Struct, Type, b1, f32, f64, i32, i64, u8

if TYPE_CHECKING:
    from meaning.sources import Writer


def bounded(w: Writer, depth: int) -> None:
    """An index that is compared with the extent before it is used."""
    memory = w.r.choice([m for m in w.scope.arrays if m.is_readable and m.access != "own"])
    axis = memory.ndim - 1
    name, extent = w.fresh("b"), f"{memory.name}.shape[{axis}]"
    t = w.r.choice([i32, i32, i64])
    w.write(f"{name} = {w.expr(t, 1)}")
    tests = [
        f"0 <= {name} < {extent}",
        f"{name} >= 0 and {name} < {extent}",
        f"not ({name} < 0 or {extent} <= {name})",
        f"{name} > 0 and {name} <= {extent} - 1 and {w.condition(2)}",
    ]
    w.write(f"if {w.r.choice(tests)}:")
    with w.nested():
        w.declare(name, t, fixed=True)
        first = f"{memory.at}, " if memory.access == "row" else ""
        if memory.ndim == 2 and not first:
            first = f"{w.index(memory, 0, 2)}, "
        element = f"{memory.name}[{first}{name}]"
        kept = w.fresh("v")
        w.write(f"{kept} = {element}")
        w.declare(kept, memory.dtype)
        w.body(depth + 1, w.r.randint(0, 2))
        if memory.access in ("free", "row"):
            w.write(f"{element} = {w.expr(memory.dtype, 1)}")
    w.declare(name, t, fixed=True)


def sweep(w: Writer) -> None:
    """A loop over the elements of an array, or over all but some at its ends."""
    memory = w.r.choice([m for m in w.scope.arrays if m.access in ("read", "free")])
    if memory.ndim != 1:
        return
    k, total = w.fresh("k"), w.fresh("v")
    extent, before, behind = (
        f"{memory.name}.shape[0]",
        w.r.randint(0, 1),
        w.r.randint(0, 1),
    )
    start = w.load(memory.dtype, 2)
    w.write(f"{total} = {start}")
    w.declare(total, memory.dtype, fixed=True)
    kind = w.r.randrange(4)
    if kind == 0:
        w.write(f"{k} = {before}")
        w.write(f"while {k} < {extent} - {behind}:")
    elif kind == 1:
        w.write(f"for {k} in range({extent} - {behind} - 1, {before} - 1, -1):")
    else:
        w.write(f"for {k} in range({before}, {extent} - {behind}, {w.r.randint(1, 3)}):")
    with w.loop(12):
        w.declare(k, i32, fixed=True)
        shift = w.r.randint(-before, behind)
        at = k if not shift else f"{k} {'-' if shift < 0 else '+'} {abs(shift)}"
        if w.knobs.faults and w.chance(0.2):
            at = w.r.choice([f"{k} + 1", f"{k} * 2", f"{k} - 1"])
        if kind == 0 and w.chance(0.3):
            w.write(f"if {w.condition(2)}:")
            w.write(f"    {k} += 1")
            if not w.knobs.faults:
                w.write("    continue")
        w.write(f"{total} = {combined(w, total, f'{memory.name}[{at}]', memory.dtype)}")
        if memory.access == "free":
            w.write(f"{memory.name}[{at}] = {total}")
        if kind == 0:
            w.write(f"{k} += {w.r.randint(1, 2)}")


def combined(w: Writer, a: str, b: str, t: Type) -> str:
    """Two values of a type as one."""
    if isinstance(t, Struct) or t is b1:
        return f"{b} if {w.condition(2)} else {a}"
    return f"{a} {w.r.choice('+-')} {b}"


def counted(w: Writer, depth: int) -> None:
    name = w.fresh("k")
    arguments, t, runs = bounds(w)
    w.write(f"for {name} in range({arguments}):")
    with w.loop(4):
        w.declare(name, t, fixed=True)
        if w.chance(0.15):
            w.write(f"{name} {w.r.choice('+*')}= 2")
        w.body(depth + 1, w.r.randint(1, 3))
    if runs and w.chance(0.5):
        w.declare(name, t, fixed=True)


def bounds(w: Writer) -> tuple[str, Scalar, bool]:
    """The arguments of ``range``, their type, and whether the loop surely runs."""
    kind = w.r.randrange(8)
    if kind < 2:
        return str(w.r.randint(1, 4)), i32, True
    if kind == 2:
        extreme = [
            ("2147483640, 2147483647, 3", i32, True),
            ("-2147483648, 2147483647, 2000000000", i32, True),
            ("2147483645, 2147483648", i64, False),
            ("5, 0, -2", i32, True),
            ("0", i32, False),
            ("3, 3", i32, False),
        ]
        return w.r.choice(extreme)
    t = w.r.choice([i32, i32, i64] + ([u8] if w.knobs.narrow else []))
    if t is u8:
        return f"{w.expr(u8, 1)} % 4", i32, False
    if kind == 3:
        return f"{w.expr(t, 1)} % 5", t, False
    low, high = f"{w.expr(t, 1)} % 4", f"{w.expr(t, 1)} % 6"
    if kind == 4:
        return f"{low}, {high}", t, False
    steps = ["1", "2", "-1", f"{w.expr(t, 1)} % 3 + 1", f"-({w.expr(t, 1)} % 2) - 1"]
    if w.knobs.faults:
        steps.append(f"{w.expr(t, 1)} % 3 - 1")
    return f"{low}, {high}, {w.r.choice(steps)}", t, False


def repeat(w: Writer, depth: int) -> None:
    """``while`` with a counter of its own."""
    counter, limit = w.fresh("w"), w.r.randint(1, 4)
    own = [m for m in w.scope.arrays if m.access == "own" and m.dtype is i32]
    w.write(f"{counter} = 0")
    kind = w.r.random()
    if own and kind < 0.15:
        (name, at) = own[0].name, own[0].at
        w.write(f"{name}[{at}] = 0")
        w.write(f"while wp.atomic_add({name}, {at}, 1) < {limit} and {counter} < 5:")
    elif kind < 0.3:
        w.write("while True:")
    elif kind < 0.5:
        w.write(f"while {counter} < {limit}:")
    else:
        parts = [f"{counter} < {limit}", w.condition(1)]
        w.r.shuffle(parts)
        w.write(f"while {' and '.join(parts)}:")
    with w.loop(4):
        w.write(f"{counter} += 1")
        w.declare(counter, i32, fixed=True)
        w.write(f"if {counter} > {limit}:")
        w.write("    break")
        w.body(depth + 1, w.r.randint(1, 3))
    w.declare(counter, i32, fixed=True)


def unrolled(w: Writer, depth: int) -> None:
    """A loop unrolled at compile time."""
    name = w.fresh("u")
    w.write(f"for {name} in wp.static(range({w.r.randint(1, 3)})):")
    with w.loop(3):
        kept = w.fresh("v")
        w.write(f"{kept} = {name} + {w.expr(i32, 1)}")
        w.declare(kept, i32)
        w.body(depth + 1, w.r.randint(0, 2))


def climb(w: Writer) -> None:
    """An accumulator whose type grows inside a loop."""
    name, counter = w.fresh("v"), w.fresh("k")
    start, t = w.r.choice([("0", f32), ("0", i64), ("0.5", f64), ("0", f64)])
    w.notes.append(f"# climbs {w.function_name}.{name} {t.public}")
    w.write(f"{name} = {start}")
    w.write(f"for {counter} in range({w.expr(i32, 1)} % 4):")
    with w.loop(3):
        w.declare(counter, i32, fixed=True)
        w.write(f"{name} = {name} + {w.expr(t, 1)}")
        w.declare(name, t, fixed=True)
        w.straight()
    w.declare(name, t, fixed=True)
