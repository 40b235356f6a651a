"""What launches must fulfil for code that takes arrays to be dense."""

from unit.codegen.harness import Make

from heald.artifact import Apart, ArrayPlace, LaunchCondition, Unit
from heald.ir import Kernel, Value
from heald.passes.layout import (
    apart_condition,
    array_places,
    assume_apart,
    assume_unit,
    unit_condition,
)
from heald.types import Array, Struct, Vector, f32, i32


def test_every_array_that_is_used_must_be_dense() -> None:
    holder = Struct("Holder", (("n", i32), ("cells", Array(f32, 2)), ("rest", Array(i32, 1))))
    m = Make(x=Array(Vector(f32, 3), 1), unused=Array(f32, 1), h=holder, n=i32)
    i = m.tid()
    cells = m.emit("extract", m.h, types=[Array(f32, 2)], leaf=1)
    m.store(cells, i, m.n, m.load(m.x, i, leaf=1))
    kernel = m.done()
    expected = (ArrayPlace(0, 0, 1, 12), ArrayPlace(2, 1, 2, 4))
    assert array_places(kernel) == expected
    assert unit_condition(kernel) == LaunchCondition((Unit(expected),))
    assert assume_unit(kernel).attrs == {"unit": True}


def test_a_kernel_without_arrays_has_no_such_variant() -> None:
    m = Make(n=i32)
    m.tid()
    assert unit_condition(m.done()) == LaunchCondition()


def scaled(*, steps: int, count: int = 1) -> Kernel:
    """``y[i] = n * x[i]`` for one x or several, ``steps`` times; the further ones are not moved."""
    m = Make(y=Array(i32, 1), n=i32, **{f"x{k}": Array(i32, 1) for k in range(count)})
    i = m.tid()

    def body(_k: Value) -> list[Value]:
        for k in range(count):
            m.store(m.y, i, m.op("imul", m.n, m.load(m.params[f"x{k}"], i)))
        return []

    if steps == 1:
        body(i)
    else:
        m.for_(m.const(i32, 0), m.const(i32, steps), m.const(i32, 1), [], body)
    return m.done()


def test_what_is_written_lies_apart_where_a_load_could_move() -> None:
    y, x = ArrayPlace(0, 0, 1, 4), ArrayPlace(2, 0, 1, 4)
    kernel = scaled(steps=9)
    assert apart_condition(kernel) == LaunchCondition((Apart((y,), (x,)),))
    assert assume_apart(kernel).attrs == {"apart": True}
    assert apart_condition(scaled(steps=1, count=2)).clauses


def test_nothing_gained_by_distance() -> None:
    # Every load comes before the store.
    assert apart_condition(scaled(steps=1)) == LaunchCondition()
    # Launches compare all pairs of arrays.
    assert apart_condition(scaled(steps=9, count=15)).clauses
    assert not apart_condition(scaled(steps=9, count=16)).clauses


def test_arrays_of_threads_are_apart_by_nature() -> None:
    m = Make(y=Array(i32, 1), n=i32)
    i = m.tid()
    own = m.emit("alloc", types=[Array(i32, 1, "local", (4,))])
    m.store(m.y, i, m.n)
    m.store(own, m.const(i32, 0), m.n)
    m.store(m.y, i, m.load(own, m.const(i32, 0)))
    assert apart_condition(m.done()) == LaunchCondition()


def test_arrays_changed_by_atomics_are_written() -> None:
    m = Make(y=Array(i32, 1), x=Array(i32, 1))
    i = m.tid()
    m.atomic("add", m.y, i, i)
    m.atomic("add", m.y, i, m.load(m.x, i))
    (clause,) = apart_condition(m.done()).clauses
    assert clause == Apart((ArrayPlace(0, 0, 1, 4),), (ArrayPlace(1, 0, 1, 4),))
