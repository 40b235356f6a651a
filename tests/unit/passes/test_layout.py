"""What launches must fulfil for code that takes arrays to be dense."""

from unit.codegen.harness import Make

from heald.artifact import ArrayPlace, LaunchCondition, Unit
from heald.passes.layout import array_places, assume_unit, unit_condition
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
