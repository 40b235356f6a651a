"""Composites, views, local arrays, resources and printing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.interp.support import agree, wir

from heald.artifact import Fault, FaultKind, PrintRecord
from heald.diagnostics import InternalError
from heald.interp import ArrayView, Resource, run, run_serial
from heald.ir import Kernel, Op, Region, op_ids, parse
from heald.ops import TABLE
from heald.types import Struct, Vector, f32, i16, i32, numpy_dtype, u8

# -- composites ----------------------------------------------------------------------------------


def test_composites_are_values() -> None:
    k = wir("""
    struct @Pair { n: i16, v: vec<f32,2> }
    kernel @k<1>(%x: array<struct<Pair>,1>, %p: struct<Pair>) {
      %t: i32 = tid [axis=0]
      %a: struct<Pair> = load %x, %t
      %f: f32 = extract %a [leaf=2]
      %b: struct<Pair> = insert %p, %f [leaf=1]
      %one: i32 = const [value=1]
      %c: b1 = icmp %t, %one [pred="eq"]
      %r: struct<Pair> = if %c () { yield %p } () { yield %b }
      store %x, %t, %r
      %z: f32 = extract %a [leaf=1]
      store %x, %t, %z [leaf=2]
      return
    }""")
    pair = Struct("Pair", (("n", i16), ("v", Vector(f32, 2))))
    x = np.zeros(3, numpy_dtype(pair))
    x["n"], x["v"] = [1, 2, 3], [[1, 2], [3, 4], [5, 6]]
    _, x, _ = agree(k, (3,), [x, (9, 0.5, 0.25)])
    assert x["n"].tolist() == [9, 9, 9]
    assert x["v"].tolist() == [[2, 1], [0.5, 3], [6, 5]]


def test_arrays_inside_structs() -> None:
    k = wir("""
    struct @Grid { cells: array<f32,1>, scale: f32 }
    kernel @k<1>(%g: struct<Grid>) {
      %t: i32 = tid [axis=0]
      %a: array<f32,1> = extract %g [leaf=0]
      %s: f32 = extract %g [leaf=1]
      %v: f32 = load %a, %t
      %w: f32 = fmul %v, %s
      %same: struct<Grid> = scope () {
        %c: b1 = fcmp %v, %s [pred="olt"]
        if %c () { return %g } () { yield }
        %two: f32 = fadd %s, %s
        %h: struct<Grid> = compose %a, %two
        return %h
      }
      %b: array<f32,1> = extract %same [leaf=0]
      %r: f32 = extract %same [leaf=1]
      %x: f32 = fadd %w, %r
      store %b, %t, %x
      return
    }""")
    cells = ArrayView.from_numpy(np.array([1, 2, 3, 4], np.float32))
    _, after = agree(k, (4,), [(cells, 3.0)])
    assert after[0].leaf().tolist() == [6, 9, 15, 18]


# -- memory --------------------------------------------------------------------------------------


def test_views_of_one_buffer_alias() -> None:
    buffer = np.zeros(16, np.uint8)
    words = ArrayView(buffer, 0, (4,), (4,), i32)
    bytes_ = ArrayView(buffer, 1, (4,), (4,), u8)
    k = wir("""
    kernel @k<1>(%w: array<i32,1>, %b: array<u8,1>) {
      %t: i32 = tid [axis=0]
      store %w, %t, %t
      %x: u8 = trunc %t
      store %b, %t, %x
      %v: i32 = load %w, %t
      store %w, %t, %v
      return
    }""")
    for runner in (run, run_serial):
        runner(k, (4,), [words, bytes_])
        assert words.leaf().tolist() == [0x101 * t for t in range(4)]


def test_strides_zero_and_negative() -> None:
    k = wir("""
    kernel @k<2>(%x: array<f32,2>, %y: array<f32,2>) {
      %i: i32 = tid [axis=0] %j: i32 = tid [axis=1]
      %v: f32 = load %x, %i, %j
      store %y, %i, %j, %v
      return
    }""")
    row = np.arange(4, dtype=np.float32)
    x, y = np.broadcast_to(row[::-1], (3, 4)), np.zeros((6, 4), np.float32)
    for runner in (run, run_serial):
        target = ArrayView.from_numpy(y[::-2])
        runner(k, (3, 4), [ArrayView.from_numpy(x), target])
        assert y[1::2].tolist() == [[3, 2, 1, 0]] * 3
        y[:] = 0


def test_the_highest_thread_wins_a_shared_element() -> None:
    k = wir("""
    kernel @k<1>(%y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %two: i32 = const [value=2]
      %i: i32 = irem %t, %two
      store %y, %i, %t
      return
    }""")
    _, y = agree(k, (9,), [np.zeros(2, np.int32)])
    assert y.tolist() == [8, 7]
    k = wir("""
    kernel @k<1>(%y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %one: i32 = const [value=1]
      store %y, %one, %t
      return
    }""")
    _, y = agree(k, (9,), [np.zeros(2, np.int32)])
    assert y.tolist() == [0, 8]


def test_local_arrays_are_fresh_and_of_one_thread() -> None:
    k = wir("""
    kernel @k<1>(%y: array<i32,2>) {
      %t: i32 = tid [axis=0]
      %c0: i32 = const [value=0] %c1: i32 = const [value=1] %c3: i32 = const [value=3]
      for %c0, %c3, %c1 (%i: i32) {
        %a: local<i32,3> = alloc
        %old: i32 = load %a, %i
        %s: i32 = iadd %old, %t
        store %a, %i, %s
        %r: i32 = load %a, %i
        store %y, %t, %i, %r
        yield
      }
      return
    }""")
    _, y = agree(k, (4,), [np.full((4, 3), 9, np.int32)])
    assert y.tolist() == [[t] * 3 for t in range(4)]


def test_local_arrays_of_different_branches_merge() -> None:
    k = wir("""
    kernel @k<1>(%y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %c0: i32 = const [value=0] %c1: i32 = const [value=1]
      %a: local<i32,2> = alloc
      %b: local<i32,2> = alloc
      store %a, %c1, %t
      %bit: i32 = iand %t, %c1
      %odd: b1 = icmp %bit, %c1 [pred="eq"]
      %c: local<i32,2> = if %odd () { yield %a } () { yield %b }
      %v: i32 = load %c, %c1
      %w: i32 = iadd %v, %c1
      store %c, %c0, %w
      %p: i32 = load %a, %c0
      %q: i32 = load %b, %c0
      %h: i32 = const [value=100]
      %q1: i32 = imul %q, %h
      %s: i32 = iadd %p, %q1
      store %y, %t, %s
      return
    }""")
    _, y = agree(k, (4,), [np.zeros(4, np.int32)])
    assert y.tolist() == [100, 2, 100, 4]


# -- views ---------------------------------------------------------------------------------------

VIEW = """
kernel @view<1>(%x: array<i32,2>, %i: array<i64,1>, %s: array<i64,1>, %n: array<i64,1>,
                %d: array<i64,1>, %out: array<i64,2>) {
  %t: i32 = tid [axis=0]
  %i1: i64 = load %i, %t
  %s1: i64 = load %s, %t
  %n1: i64 = load %n, %t
  %d1: i64 = load %d, %t
  %v: array<i32,1> = subview %x, %i1, %s1, %n1, %d1 [axes="is"]
  %extent: i64 = dim %v [axis=0]
  %c0: i64 = const [value=0] %c1: i64 = const [value=1]
  %last: i64 = isub %extent, %c1
  %some: b1 = icmp %extent, %c0 [pred="sgt"]
  %sum: i64 = if %some () {
    %a: i32 = load %v, %last
    %b: i32 = load %v, %c0
    %hundred: i32 = const [value=100]
    %ah: i32 = imul %a, %hundred
    %c: i32 = iadd %ah, %b
    %w: i64 = sext %c
    yield %w
  } () { yield %c0 }
  store %out, %t, %c0, %extent
  store %out, %t, %c1, %sum
  return
}
"""
_EDGE = st.integers(-2, 6) | st.sampled_from([2**63 - 1, -(2**63), 2**62, -(2**62) - 1])


@given(st.lists(st.tuples(_EDGE, _EDGE, _EDGE, _EDGE), min_size=1, max_size=12))
def test_subviews_with_any_numbers_lie_inside_or_fault(rows: list[tuple[int, ...]]) -> None:
    check_views(rows)


def test_every_small_subview_lies_inside_or_faults() -> None:
    check_views(list(itertools.product((-1, 2, 3), range(-1, 7), range(-1, 7), range(-6, 7))))


def check_views(rows: list[tuple[int, ...]]) -> None:
    x = np.arange(15, dtype=np.int32).reshape(3, 5)
    columns = [np.array(c, np.int64) for c in zip(*rows, strict=True)]
    k = wir(VIEW)
    out = np.zeros((len(rows), 2), np.int64)
    outcome, *_, out = agree(k, (len(rows),), [x, *columns, out])
    good = []
    for (i, s, n, d), (extent, total) in zip(rows, out.tolist(), strict=True):
        inside = n > 0 and 0 <= s < 5 and 0 <= s + (n - 1) * d < 5
        good.append(0 <= i < 3 and (n == 0 or inside))
        if not good[-1] or n == 0:
            assert extent == total == 0
        else:
            assert extent == n
            assert total == x[i, s + (n - 1) * d] * 100 + x[i, s]
    faults = outcome.faults
    assert sum(f.count for f in faults) == good.count(False)
    if faults:
        first = good.index(False)
        assert faults[0].thread == first
        assert faults[0].kind is FaultKind.BOUNDS
        assert faults[0].shape == (3, 5)
        assert faults[0].index[0] == rows[first][0]


def test_a_faulty_stretch_shows_the_end_that_is_outside() -> None:
    k = wir(VIEW)
    x = np.arange(15, dtype=np.int32).reshape(3, 5)
    for row, shown in [((1, 7, 1, 1), 7), ((1, 3, 4, 1), 6), ((1, 3, 4, -2), -3)]:
        columns = [np.array([c], np.int64) for c in row]
        outcome, *_ = agree(k, (1,), [x, *columns, np.zeros((1, 2), np.int64)])
        assert outcome.faults[0].index == (1, shown)


def test_every_axis_of_a_view_is_checked() -> None:
    k = wir("""
    kernel @k<1>(%x: array<i32,3>, %at: array<i32,2>, %y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %c0: i32 = const [value=0] %c1: i32 = const [value=1] %c2: i32 = const [value=2]
      %i: i32 = load %at, %t, %c0
      %j: i32 = load %at, %t, %c1
      %k: i32 = load %at, %t, %c2
      %v: array<i32,1> = subview %x, %i, %j, %c1, %c1, %k [axes="isi"]
      %n: i32 = dim %v [axis=0]
      store %y, %t, %n
      return
    }""")
    at = list(itertools.product((-1, 0, 1, 2), (-1, 0, 2, 3), (-1, 3, 4)))
    x, y = np.zeros((2, 3, 4), np.int32), np.zeros(len(at), np.int32)
    *_, y = agree(k, (len(at),), [x, np.array(at, np.int32), y])
    assert y.tolist() == [int(0 <= i < 2 and 0 <= j < 3 and 0 <= k < 4) for i, j, k in at]


def test_views_keep_whole_axes_and_step_through_others() -> None:
    k = wir("""
    kernel @k<1>(%x: array<i32,3>, %y: array<i32,3>) {
      %t: i32 = tid [axis=0]
      %c0: i32 = const [value=0] %c1: i32 = const [value=1] %c2: i32 = const [value=2]
      %c3: i32 = const [value=3] %m2: i32 = const [value=-2]
      %v: array<i32,2> = subview %x, %t, %c3, %c2, %m2 [axes="fis"]
      %s: i64 = stride %v [axis=1]
      %w: i32 = trunc %s
      %n: i32 = dim %v [axis=0]
      for %c0, %n, %c1 (%i: i32) {
        for %c0, %c2, %c1 (%j: i32) {
          %e: i32 = load %v, %i, %j
          store %y, %t, %i, %j, %e
          yield
        }
        store %y, %t, %i, %c2, %w
        yield
      }
      return
    }""")
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    _, _, y = agree(k, (3,), [x, np.zeros((3, 2, 3), np.int32)])
    for t in range(3):
        assert (y[t, :, :2] == x[:, t, 3::-2]).all()
        assert (y[t, :, 2] == -8).all()


# -- resources -----------------------------------------------------------------------------------


def handle(kind: int, generation: int, index: int) -> int:
    return kind << 56 | generation << 32 | index


TABLE_READ = """
kernel @k<1>(%h: array<u64,1>, %y: array<f64,2>) {
  %t: i32 = tid [axis=0]
  %g: u64 = load %h, %t
  %a: array<f64,1> = resource_array %g [kind=3, slot=1]
  %s: f32 = resource_scalar %g [kind=3, slot=0]
  %n: i64 = dim %a [axis=0]
  %c0: i64 = const [value=0] %c1: i64 = const [value=1] %c2: i64 = const [value=2]
  %nf: f64 = sitofp %n
  %sf: f64 = fpext %s
  store %y, %t, %c0, %nf
  store %y, %t, %c1, %sf
  %some: b1 = icmp %n, %c0 [pred="sgt"]
  if %some () {
    %last: i64 = isub %n, %c1
    %v: f64 = load %a, %last
    store %y, %t, %c2, %v
    yield
  } () { yield }
  return
}
"""


def test_resources_are_read_through_handles() -> None:
    word = int(np.array([2.5], np.float32).view(np.uint32)[0]) | 0xABCD << 32
    first, second = np.arange(6, dtype=np.float64), np.arange(10, 30, dtype=np.float64)
    views = [ArrayView.from_numpy(first), ArrayView.from_numpy(second[::-2])]
    resources = {
        5: Resource(handle(3, 7, 5), (word,), (views[0], views[0])),
        4095: Resource(handle(3, 1, 4095), (0, 1), (views[0], views[1])),
        6: Resource(handle(2, 7, 6), (word,), (views[0], views[0])),
        7: Resource(handle(3, 0, 7)),
        4096: Resource(handle(3, 1, 4096), (word,), (views[0], views[0])),
    }
    handles = [
        handle(3, 7, 5),
        handle(3, 1, 4095),
        handle(3, 0, 7),  # alive, but its slots are empty
        handle(3, 6, 5),  # stale
        handle(2, 7, 6),  # of another kind
        handle(3, 7, 6),  # a kind that it claims
        handle(3, 1, 4096),  # beyond the table
        handle(3, 1, 9),  # free
        0,
    ]
    h = np.array(handles, np.uint64)
    k = wir(TABLE_READ)
    y = np.full((9, 3), -1.0)
    outcome, _, y = agree(k, (9,), [h, y], resources=resources)
    assert y[:3].tolist() == [[6, 2.5, 5], [10, 0, 11], [0, 0, -1]]
    assert y[3:].tolist() == [[0, 0, -1]] * 6
    number = next(n for op, n in op_ids(k).items() if op.name == "resource_array")
    assert outcome.faults == (Fault(FaultKind.HANDLE, number, 3, count=6),)
    outcome, _, y = agree(k, (9,), [np.full(9, handles[1], np.uint64), y], resources=resources)
    assert y.tolist() == [[10, 0, 11]] * 9
    assert outcome.faults == ()


# -- printing ------------------------------------------------------------------------------------


def test_print_records_are_sorted_by_thread_and_sequence() -> None:
    k = wir("""
    kernel @k<1>(%b: bf16, %c: b1) {
      %t: i32 = tid [axis=0]
      %c0: i32 = const [value=0] %c1: i32 = const [value=1]
      for %c0, %t, %c1 (%i: i32) {
        printf %i, %b, %c [text="%d %g %d", kinds="ifb"]
        yield
      }
      %odd: i32 = iand %t, %c1
      %o: b1 = icmp %odd, %c1 [pred="eq"]
      if %o () { printf [text="odd", kinds=""] yield } () { yield }
      return
    }""")
    outcome, *_ = agree(k, (4,), [1.5, True])
    first, second = (n for op, n in op_ids(k).items() if op.name == "printf")
    expected = []
    for t in range(4):
        rows = [(first, (i, 1.5, True)) for i in range(t)] + [(second, ())] * (t % 2)
        expected += [PrintRecord(t, k, op, values) for k, (op, values) in enumerate(rows)]
    assert outcome.printed == tuple(expected)
    assert {type(x) for r in outcome.printed for x in r.values} == {int, float, bool}


# -- bugs of ours --------------------------------------------------------------------------------


def test_an_unknown_op_is_an_internal_error() -> None:
    k = parse("kernel @k<0>(%x: f32) { %y: f32 = fneg %x return }", TABLE)
    odd = Op("frob", k.body.ops[0].operands, k.body.ops[0].results)
    broken = Kernel("k", k.params, Region((), (odd, k.body.ops[1])))
    for runner in (run, run_serial):
        with pytest.raises(InternalError, match="no op 'frob'"):
            runner(broken, (1,), [1.0])
