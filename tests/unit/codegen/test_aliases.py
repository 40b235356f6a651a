"""What LLVM is told of arrays that lie apart, and code that makes use of it."""

import numpy as np
import pytest
from unit.codegen.harness import Make
from unit.codegen.widening import agree

from heald.codegen.aliases import Aliases
from heald.ir import Kernel, Value, walk
from heald.passes.array_roots import array_roots
from heald.passes.layout import assume_apart
from heald.types import Array, Vector, f32, i32


def summing(steps: int = 5, atomic: bool = False) -> Kernel:
    """``for k in range(steps): y[i] += a[k]``, then ``z[i] = y[i]``."""
    m = Make(a=Array(f32, 1), y=Array(f32, 1), z=Array(f32, 1))
    i = m.tid()

    def body(k: Value) -> list[Value]:
        if atomic:
            m.atomic("add", m.y, i, m.load(m.a, k))
        else:
            m.store(m.y, i, m.op("fadd", m.load(m.y, i), m.load(m.a, k)))
        return []

    m.for_(m.const(i32, 0), m.const(i32, steps), m.const(i32, 1), [], body)
    m.store(m.z, i, m.load(m.y, i))
    return m.done()


def told(kernel: Kernel) -> list[str]:
    """What loads and stores say, in order."""
    aliases, roots = Aliases(kernel), array_roots(kernel)
    found = [op for op in walk(kernel.body) if op.name in ("load", "store")]
    return [aliases.of(roots, op.operands[0]) for op in found]


def test_nothing_is_told_of_arrays_that_may_overlap() -> None:
    assert Aliases(summing()).lines == []
    assert set(told(summing())) == {""}


def test_accesses_are_in_the_scope_of_their_array_and_outside_the_others() -> None:
    kernel = assume_apart(summing())
    lines = Aliases(kernel).lines
    domain, y, z = (line.split(" =")[0] for line in lines[:3])
    assert lines[:3] == [
        f"{domain} = distinct !{{{domain}}}",
        f"{y} = distinct !{{{y}, {domain}}}",
        f"{z} = distinct !{{{z}, {domain}}}",
    ]
    sets = {line.split(" = ")[1]: line.split(" =")[0] for line in lines[3:]}
    only_y, only_z, both = sets[f"!{{{y}}}"], sets[f"!{{{z}}}"], sets[f"!{{{y}, {z}}}"]
    of_y = f", !alias.scope {only_y}, !noalias {only_z}"
    of_z = f", !alias.scope {only_z}, !noalias {only_y}"
    of_a = f", !noalias {both}"
    assert told(kernel) == [of_y, of_a, of_y, of_y, of_z]


def test_atomics_make_scopes_too() -> None:
    of_a, of_y, of_z = told(assume_apart(summing(atomic=True)))
    assert ["alias.scope" in note for note in (of_a, of_y, of_z)] == [False, True, True]
    assert "noalias" in of_a


def test_one_array_alone_is_not_outside_anything() -> None:
    m = Make(a=Array(f32, 1))
    i = m.tid()
    m.store(m.a, i, m.load(m.a, i))
    first, second = told(assume_apart(m.done()))
    assert first == second
    assert "noalias" not in first


def test_an_array_that_may_be_one_of_two_is_not_told_of() -> None:
    m = Make(a=Array(f32, 1), b=Array(f32, 1), n=i32)
    i = m.tid()
    first = m.op("icmp", m.n, m.const(i32, 0), pred="eq")
    (chosen,) = m.if_(first, lambda: [m.a], lambda: [m.b], types=[Array(f32, 1)])
    m.store(chosen, i, m.const(f32, 1.0))
    assert told(assume_apart(m.done())) == [""]


def test_a_view_is_in_the_scope_of_its_array() -> None:
    m = Make(a=Array(f32, 2), b=Array(f32, 1))
    row = m.emit("subview", m.a, m.tid(), types=[Array(f32, 1)], axes="if")
    m.store(row, m.const(i32, 0), m.load(m.b, m.const(i32, 0)))
    of_b, of_row = told(assume_apart(m.done()))
    assert "alias.scope" in of_row
    assert "noalias" in of_b


@pytest.mark.cpu
@pytest.mark.parametrize("atomic", [False, True])
def test_apart_changes_no_bits(atomic: bool) -> None:
    def make(n: int) -> list[np.ndarray]:
        a = np.linspace(-1, 3, 5, dtype=np.float32)
        return [a, np.arange(n, dtype=np.float32), np.zeros(n, np.float32)]

    # Longer loops of atomics are not widened.
    agree(assume_apart(summing(1 if atomic else 5, atomic)), make)


@pytest.mark.cpu
def test_elements_of_several_numbers_apart() -> None:
    m = Make(x=Array(Vector(f32, 3), 1), order=Array(i32, 1), y=Array(Vector(f32, 3), 1))
    i = m.tid()

    def body(k: Value) -> list[Value]:
        j = m.load(m.order, k)
        for leaf in range(3):
            moved = m.op("fadd", m.load(m.x, j, leaf=leaf), m.load(m.y, i, leaf=leaf))
            m.store(m.y, i, moved, leaf=leaf)
        return []

    m.for_(m.const(i32, 0), m.const(i32, 4), m.const(i32, 1), [], body)

    def make(n: int) -> list[np.ndarray]:
        x = np.arange(21, dtype=np.float32).reshape(7, 3)
        return [x, np.array([6, 0, 3, 3], np.int32), np.ones((n, 3), np.float32)]

    agree(assume_apart(m.done()), make)
