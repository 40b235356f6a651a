"""Atomics with collisions against one thread after another in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.interp.support import agree, same_bits, wir

from heald.interp import ArrayView, run_serial
from heald.interp.atomics import change
from heald.ir import Op, Value
from heald.ops import TABLE
from heald.types import BY_NAME, FLOATS, INTEGERS, SCALARS, Scalar, Struct, Vector, b1, bf16
from heald.types.descriptors import from_bfloat16

KINDS = ("add", "sub", "min", "max", "and", "or", "xor", "exch", "cas")
ALL = [
    (kind, t)
    for kind in KINDS
    for t in SCALARS
    if not (kind in ("and", "or", "xor") and t.is_float)
    and not (kind in ("add", "sub", "min", "max") and t is b1)
]


def combine(kind: str, t: Scalar) -> Callable[..., Any]:
    """New value from old value and operands, one thread at a time."""
    if kind == "exch":
        return lambda old, new: new
    if kind == "cas":
        return lambda old, expected, new: new if old.tobytes() == expected.tobytes() else old
    name = f"i{kind}" if kind in ("and", "or", "xor") else None
    if kind in ("add", "sub"):
        name = f"{'f' if t.is_float else 'i'}{kind}"
    if kind in ("min", "max"):
        name = f"{'f' if t.is_float else 's' if t.kind == 'i' else 'u'}{kind}"
    assert name is not None
    op = Op(name, (Value(t), Value(t)), (Value(t),))
    return lambda old, x: TABLE[name].evaluate(op, np.array([old]), np.array([x]))[0]


def numbers(t: Scalar, count: int, random: np.random.Generator) -> Any:
    """Values whose order of summation shows, and few of them, so that compare-and-swap succeeds."""
    if t is b1:
        return random.integers(0, 2, count).astype(bool)
    if t.is_integer:
        few = random.integers(t.lowest, t.highest, 4, dtype=t.carrier, endpoint=True)
        return few[random.integers(0, 4, count)]
    few = np.array([1e-3, 1.5, -7.25, 3e4, np.nan, -0.0, 0.0, np.inf, -np.inf], np.float32)
    chosen = few[random.integers(0, 9 if count % 2 else 4, count)]
    if t is bf16:
        return (chosen.view(np.uint32) >> 16).astype(np.uint16)
    return chosen.astype(t.carrier)


@pytest.mark.parametrize("old_is_read", [False, True])
@pytest.mark.parametrize(("kind", "t"), ALL, ids=str)
def test_turns_are_taken_in_order(kind: str, t: Scalar, old_is_read: bool) -> None:
    random = np.random.default_rng(7)
    for count, cells in [(1, 1), (40, 1), (41, 5), (60, 50), (33, 7)]:
        memory = numbers(t, cells, random)
        position = random.integers(0, cells, count)
        operands = [numbers(t, count, random) for _ in range(2 if kind == "cas" else 1)]
        after, olds = memory.copy(), memory[position]
        with np.errstate(all="ignore"):
            for k, at in enumerate(position):
                olds[k] = after[at]
                after[at] = combine(kind, t)(after[at], *(x[k] for x in operands))
            found = change(f"atomic_{kind}", t, memory, position, operands, old_is_read)
        assert same(t, memory, after)
        if old_is_read:
            assert found is not None
            assert same(t, found, olds)


def same(t: Scalar, a: Any, b: Any) -> bool:
    return same_bits(from_bfloat16(a), from_bfloat16(b)) if t is bf16 else same_bits(a, b)


COUNTER = """
kernel @append<1>(%n: array<i32,1>, %x: array<i32,1>, %y: array<i32,1>) {
  %t: i32 = tid [axis=0]
  %zero: i32 = const [value=0]
  %one: i32 = const [value=1]
  %v: i32 = load %x, %t
  %keep: b1 = icmp %v, %zero [pred="sgt"]
  if %keep () {
    %at: i32 = atomic_add %n, %zero, %one
    store %y, %at, %t
    yield
  } () { yield }
  return
}
"""


def test_old_values_are_those_of_ascending_threads() -> None:
    x = np.random.default_rng(3).integers(-3, 4, 50).astype(np.int32)
    counter = np.array([2], np.int32)
    _, n, _, y = agree(wir(COUNTER), (50,), [counter, x, np.full(60, -1, np.int32)])
    kept = np.flatnonzero(x > 0)
    assert n.tolist() == [2 + len(kept)]
    assert y[2 : 2 + len(kept)].tolist() == kept.tolist()


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=30), st.sampled_from([*INTEGERS, *FLOATS]))
def test_guarded_atomics_change_nothing_outside(places: list[int], t: Scalar) -> None:
    k = wir(f"""
    kernel @k<1>(%at: array<i32,1>, %x: array<{t},1>, %v: array<{t},1>, %y: array<{t},1>) {{
      %t: i32 = tid [axis=0]
      %i: i32 = load %at, %t
      %w: {t} = load %v, %t
      %old: {t} = atomic_add %x, %i, %w
      store %y, %t, %old
      return
    }}""")
    random = np.random.default_rng(len(places))
    x, v = numbers(t, 3, random), numbers(t, len(places), random)
    y = np.ones(len(places), t.carrier)
    outcome, _, found, _, olds = agree(k, (len(places),), [np.array(places, np.int32), x, v, y])
    expected = x.copy()
    with np.errstate(all="ignore"):
        for thread, at in enumerate(places):
            old = t.carrier.type(0)
            if 0 <= at < 3:
                old = expected[at]
                expected[at] = combine("add", t)(old, v[thread])
            assert same(t, olds[thread : thread + 1], np.array([old]))
    assert same(t, found, expected)
    assert [f.count for f in outcome.faults] == [
        n for n in [sum(at in (-1, 3) for at in places)] if n
    ]


def test_composites_go_leaf_by_leaf() -> None:
    k = wir("""
    struct @Pair { n: i16, v: vec<f32,2> }
    kernel @k<1>(%x: array<struct<Pair>,1>, %w: struct<Pair>, %y: array<struct<Pair>,1>) {
      %t: i32 = tid [axis=0]
      %zero: i32 = const [value=0]
      %one: i32 = const [value=1]
      %old: struct<Pair> = atomic_max %x, %zero, %w
      %i: i32 = iand %t, %one
      %sum: struct<Pair> = atomic_add %x, %i, %w
      %part: f32 = extract %w [leaf=1]
      %f: f32 = atomic_sub %x, %i, %part [leaf=2]
      store %y, %t, %sum
      return
    }""")
    pair = Struct("Pair", (("n", BY_NAME["i16"]), ("v", Vector(BY_NAME["f32"], 2))))
    x, y = ArrayView.allocate(pair, (2,)), ArrayView.allocate(pair, (4,))
    run_serial(k, (4,), [x, (3, 0.5, -1.0), y])
    # Thread 0 makes (3, .5, 0) the maximum, (6, 1, -1) the sum, and takes .5 from the last leaf.
    assert x.leaf(0).tolist() == [9, 6]
    assert x.leaf(1).tolist() == [1.5, 1.0]
    assert x.leaf(2).tolist() == [-1.0, -3.0]
    assert y.leaf(0).tolist() == [3, 0, 6, 3]
    assert y.leaf(2).tolist() == [0.0, 0.0, -1.0, -1.5]


def test_floats_are_summed_in_the_order_of_threads() -> None:
    k = wir("""
    kernel @k<1>(%x: array<f32,1>, %y: array<f32,1>) {
      %t: i32 = tid [axis=0]
      %zero: i32 = const [value=0]
      %v: f32 = load %x, %t
      %old: f32 = atomic_add %y, %zero, %v
      return
    }""")
    x = np.array([1e8, 1, -1e8, 1, 3e-8, 1], np.float32)
    _, _, y = agree(k, (6,), [x, np.zeros(1, np.float32)])
    total = np.float32(0)
    for v in x:
        total += v
    assert y[0] == total != np.float32(x.sum(dtype=np.float64))
