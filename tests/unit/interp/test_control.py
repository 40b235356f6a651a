"""Control flow of grids against plain Python: exits, loops at the edges, masks, dims, chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.interp.support import agree, wir

from heald.diagnostics import HealdError, InternalError, LaunchError
from heald.interp import ArrayView, run, run_serial
from heald.interp.control import CONTROL, trip_count
from heald.interp.operations import OPERATIONS
from heald.ir import STRUCTURAL, parse
from heald.ops import TABLE, Handled
from heald.types import i32, i64, u8


def test_every_op_is_handled() -> None:
    assert set(OPERATIONS) | CONTROL >= set(STRUCTURAL)
    assert set(OPERATIONS) | CONTROL >= {
        n for n, r in TABLE.items() if isinstance(r.evaluate, Handled)
    }
    assert not set(OPERATIONS) - set(STRUCTURAL) - set(TABLE)


# -- branches and exits --------------------------------------------------------------------------


def test_early_return_and_merge() -> None:
    k = wir("""
    kernel @k<1>(%x: array<i32,1>, %y: array<i32,1>) {
      %i: i32 = tid [axis=0]
      %n: i32 = dim %x [axis=0]
      %out: b1 = icmp %i, %n [pred="sge"]
      if %out () { return } () { yield }
      %v: i32 = load %x, %i
      %zero: i32 = const [value=0]
      %neg: b1 = icmp %v, %zero [pred="slt"]
      %a: i32, %b: i32 = if %neg () { %m: i32 = ineg %v yield %m, %zero } () { yield %v, %v }
      %s: i32 = iadd %a, %b
      store %y, %i, %s
      return
    }""")
    x = np.array([3, -4, 0, 7, -1], np.int32)
    _, _, y = agree(k, (9,), [x, np.zeros(5, np.int32)])
    assert y.tolist() == [6, 4, 0, 14, 1]


NEST = """
kernel @nest<1>(%x: array<i32,1>, %out: array<i32,2>) {
  %t: i32 = tid [axis=0]
  %seed: i32 = load %x, %t
  %zero: i32 = const [value=0]
  %one: i32 = const [value=1]
  %three: i32 = const [value=3]
  %five: i32 = const [value=5]
  %seven: i32 = const [value=7]
  %r: i32, %how: i32 = scope () {
    %sum: i32 = for %zero, %seed, %one, %seed (%i: i32, %s: i32) {
      %u: i32 = while %s (%a: i32) {
        %big: i32 = imul %five, %seven
        %go: b1 = icmp %a, %big [pred="slt"]
        yield %go
      } (%b: i32) {
        %m: i32 = irem %b, %seven
        %hit: b1 = icmp %m, %zero [pred="eq"]
        if %hit () {
          %b1: i32 = iadd %b, %i
          break %b1
        } () { yield }
        %m3: i32 = irem %b, %three
        %c3: b1 = icmp %m3, %one [pred="eq"]
        if %c3 () {
          %b2: i32 = iadd %b, %five
          continue %b2
        } () { yield }
        %m5: i32 = irem %b, %five
        %c5: b1 = icmp %m5, %three [pred="eq"]
        if %c5 () { return %b, %i } () { yield }
        %b3: i32 = iadd %b, %one
        yield %b3
      }
      %low: i32 = iand %u, %one
      %odd: b1 = icmp %low, %one [pred="eq"]
      %w: i32 = if %odd () {
        %u1: i32 = iadd %u, %three
        continue %u1
      } () {
        %u2: i32 = iadd %u, %one
        yield %u2
      }
      yield %w
    }
    %minus: i32 = const [value=-1]
    return %sum, %minus
  }
  %k0: i32 = const [value=0]
  store %out, %t, %k0, %r
  store %out, %t, %one, %how
  return
}
"""


def nest(seed: int) -> tuple[int, int]:
    s = seed
    for i in range(seed):
        b = s
        while b < 35:
            if b % 7 == 0:
                b += i
                break
            if b % 3 == 1:
                b += 5
                continue
            if b % 5 == 3:
                return b, i
            b += 1
        s = b + 3 if b & 1 else b + 1
    return s, -1


def test_nested_exits_take_their_own_way() -> None:
    seeds = np.arange(40, dtype=np.int32)
    _, _, out = agree(wir(NEST), (40,), [seeds, np.zeros((40, 2), np.int32)])
    assert [tuple(row) for row in out.tolist()] == [nest(s) for s in range(40)]


def test_a_scope_whose_arms_all_return() -> None:
    k = wir("""
    kernel @k<1>(%y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %one: i32 = const [value=1]
      %bit: i32 = iand %t, %one
      %odd: b1 = icmp %bit, %one [pred="eq"]
      %r: i32 = scope () {
        if %odd () { %a: i32 = imul %t, %t return %a } () { return %bit }
        unreachable
      }
      store %y, %t, %r
      return
    }""")
    _, y = agree(k, (6,), [np.zeros(6, np.int32)])
    assert y.tolist() == [0, 1, 0, 9, 0, 25]


def test_arrays_pass_through_scopes_branches_and_loops() -> None:
    k = wir("""
    kernel @k<1>(%a: array<i32,1>, %b: array<i32,1>, %y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %zero: i32 = const [value=0]
      %one: i32 = const [value=1]
      %two: i32 = const [value=2]
      %bit: i32 = iand %t, %one
      %odd: b1 = icmp %bit, %one [pred="eq"]
      %c: array<i32,1> = scope () {
        if %odd () { return %a } () { yield }
        return %b
      }
      %d: array<i32,1> = for %zero, %t, %one, %c (%i: i32, %e: array<i32,1>) {
        %n: i32 = dim %e [axis=0]
        %m: i32 = isub %n, %one
        %f: array<i32,1> = subview %e, %one, %m, %one [axes="s"]
        yield %f
      }
      %v: i32 = load %d, %zero
      store %y, %t, %v
      return
    }""")
    a, b = np.arange(10, 18, dtype=np.int32), np.arange(20, 29, dtype=np.int32)
    _, _, _, y = agree(k, (8,), [a, b, np.zeros(8, np.int32)])
    assert y.tolist() == [20, 11, 22, 13, 24, 15, 26, 17]


def test_both_arms_may_lose_some_of_their_lanes() -> None:
    k = wir("""
    kernel @k<1>(%y: array<i32,1>) {
      %t: i32 = tid [axis=0]
      %c1: i32 = const [value=1] %c2: i32 = const [value=2] %c3: i32 = const [value=3]
      %r2: i32 = irem %t, %c2
      %r3: i32 = irem %t, %c3
      %odd: b1 = icmp %r2, %c1 [pred="eq"]
      %out: b1 = icmp %r3, %c1 [pred="eq"]
      %v: i32 = if %odd () {
        if %out () { return } () { yield }
        yield %c1
      } () {
        if %out () { return } () { yield }
        yield %c2
      }
      store %y, %t, %v
      return
    }""")
    _, y = agree(k, (7,), [np.zeros(7, np.int32)])
    assert y.tolist() == [2, 0, 2, 1, 0, 1, 2]


# -- loops ---------------------------------------------------------------------------------------

COUNT = """
kernel @count<1>(%lo: array<i64,1>, %hi: array<i64,1>, %step: array<i64,1>, %most: i64,
                 %out: array<i64,2>) {{
  %t: i32 = tid [axis=0]
  %lo1: i64 = load %lo, %t
  %hi1: i64 = load %hi, %t
  %step1: i64 = load %step, %t
  {narrow}
  %zero: i64 = const [value=0]
  %one: i64 = const [value=1]
  %k0: i32 = const [value=0]
  %k1: i32 = const [value=1]
  %n: i64, %last: i64 = for %lo2, %hi2, %step2, %zero, %zero (%i: {t}, %k: i64, %l: i64) {{
    %k2: i64 = iadd %k, %one
    {widen}
    %full: b1 = icmp %k2, %most [pred="sge"]
    if %full () {{ break %k2, %iw }} () {{ yield }}
    yield %k2, %iw
  }}
  store %out, %t, %k0, %n
  store %out, %t, %k1, %last
  return
}}
"""


def count_kernel(narrow: bool) -> object:
    names = ("lo", "hi", "step")
    if narrow:
        lines = [f"%{n}2: i32 = trunc %{n}1" for n in names]
        text = COUNT.format(narrow="\n".join(lines), t="i32", widen="%iw: i64 = sext %i")
    else:
        lines = [f"%{n}2: i64 = iadd %{n}1, %nil" for n in names]
        nil = "%nil: i64 = const [value=0]\n"
        text = COUNT.format(
            narrow=nil + "\n".join(lines), t="i64", widen="%iw: i64 = iadd %i, %nil"
        )
    return wir(text)


@pytest.mark.parametrize(("narrow", "t"), [(True, i32), (False, i64)])
def test_counted_loops_at_the_edges_of_their_type(narrow: bool, t: object) -> None:
    low, high = t.lowest, t.highest  # type: ignore[attr-defined]
    cases = [
        (0, 3, 1), (0, -3, 1), (3, 0, -1), (0, 7, 3), (7, 0, -3), (5, 5, 1), (5, 5, -1),
        (high - 2, high, 1), (high - 2, high, 5), (low + 2, low, -1), (low, high, high),
        (high, low, low), (low, high, 1), (high, low, -1), (high - 1, high, 2), (low, high, low),
    ]  # fmt: skip
    columns = [np.array(c, np.int64) for c in zip(*cases, strict=True)]
    out = np.zeros((len(cases), 2), np.int64)
    kernel = count_kernel(narrow)
    outcome, *_, out = agree(kernel, (len(cases),), [*columns, 6, out])  # type: ignore[arg-type]
    assert outcome.faults == ()
    for (lo, hi, step), row in zip(cases, out.tolist(), strict=True):
        values = list(range(lo, hi, step)[:6])
        assert row == [len(values), values[-1] if values else 0]


@given(st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 3), min_size=1, max_size=8))
def test_trip_count_is_that_of_range(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array(c, np.int64) for c in zip(*rows, strict=True)]
    expected = [len_of_range(*row) for row in rows]
    assert trip_count(*columns).tolist() == expected


def len_of_range(lo: int, hi: int, step: int) -> int:
    return 0 if step == 0 else max(0, -(-(hi - lo) // step))


def test_fuel_ends_endless_loops() -> None:
    k = wir("""
    kernel @forever<1>() {
      while () { %yes: b1 = const [value=true] yield %yes } () { yield }
      return
    }""")
    for runner in (run, run_serial):
        with pytest.raises(HealdError, match="forever did not end within 50 loop") as caught:
            runner(k, (3,), [], fuel=50)
        assert caught.value.codes == ("H0708",)
        with pytest.raises(HealdError):
            runner(k, (3,), [], fuel=0)


def test_fuel_that_just_suffices() -> None:
    k = wir("""
    kernel @ten<1>() {
      %a: i32 = const [value=0] %b: i32 = const [value=10] %c: i32 = const [value=1]
      for %a, %b, %c (%i: i32) { yield }
      return
    }""")
    for runner in (run, run_serial):
        assert runner(k, (3,), [], fuel=10).faults == ()
        with pytest.raises(HealdError):
            runner(k, (3,), [], fuel=9)


# -- launches ------------------------------------------------------------------------------------

PLACE = """
kernel @place<3>(%y: array<i64,4>) {
  %i: i32 = tid [axis=0]
  %j: i64 = tid [axis=1]
  %k: i32 = tid [axis=2]
  %n: i64 = launch_dim [axis=1]
  %last: i32 = launch_dim [axis=3]
  %iw: i64 = sext %i
  %kw: i64 = sext %k
  %lw: i64 = sext %last
  %c0: i32 = const [value=0] %c1: i32 = const [value=1] %c2: i32 = const [value=2]
  %c3: i32 = const [value=3] %c4: i32 = const [value=4]
  store %y, %i, %j, %k, %c0, %iw
  store %y, %i, %j, %k, %c1, %j
  store %y, %i, %j, %k, %c2, %kw
  store %y, %i, %j, %k, %c3, %n
  store %y, %i, %j, %k, %c4, %lw
  return
}
"""


def test_threads_are_row_major() -> None:
    _, y = agree(wir(PLACE), (2, 3, 4), [np.zeros((2, 3, 4, 5), np.int64)])
    for at in np.ndindex(2, 3, 4):
        assert y[at].tolist() == [*at, 3, 1]


@pytest.mark.parametrize("dims", [(0, 3, 4), (2, 0, 4), (0, 0, 0)])
def test_an_empty_launch_does_nothing(dims: tuple[int, ...]) -> None:
    outcome, y = agree(wir(PLACE), dims, [np.zeros((2, 3, 4, 5), np.int64)])
    assert not y.any()
    assert outcome.faults == ()


def test_blocks_are_linear() -> None:
    k = wir("""
    kernel @k<2>(%y: array<i64,3>) {
      %i: i32 = tid [axis=0] %j: i32 = tid [axis=1]
      %a: i64 = block_index
      %b: i32 = thread_index
      %c: i32 = lane
      %d: i32 = block_dim
      %bw: i64 = sext %b %cw: i64 = sext %c %dw: i64 = sext %d
      %c0: i32 = const [value=0] %c1: i32 = const [value=1] %c2: i32 = const [value=2]
      %c3: i32 = const [value=3]
      store %y, %i, %j, %c0, %a
      store %y, %i, %j, %c1, %bw
      store %y, %i, %j, %c2, %cw
      store %y, %i, %j, %c3, %dw
      return
    }""")
    _, y = agree(k, (3, 40), [np.zeros((3, 40, 4), np.int64)], block_dim=50)
    for thread, row in enumerate(y.reshape(-1, 4).tolist()):
        assert row == [thread // 50, thread % 50, thread % 50 % 32, 50]


def test_a_dim_beyond_32_bits_needs_64_bit_indices() -> None:
    view = ArrayView(np.zeros(1, np.uint8), 0, (1 << 40,), (0,), u8)
    extent = wir("kernel @k<0>(%a: array<u8,1>) { %n: i32 = dim %a [axis=0] return }")
    launch = wir("kernel @k<2>() { %n: i32 = launch_dim [axis=1] return }")
    for runner in (run, run_serial):
        for kernel, args in ((extent, [view]), (launch, [])):
            with pytest.raises(LaunchError) as caught:
                runner(kernel, (1, 1 << 40), args)
            assert caught.value.codes == ("H0210",)
    thread = wir("kernel @k<2>() { %n: i32 = tid [axis=1] return }")
    assert run(thread, (0, 1 << 40), []).faults == ()
    with pytest.raises(LaunchError):
        run(thread, (1, (1 << 31) + 1), [], chunk=4)


def test_a_chunk_of_a_large_grid_has_64_bit_indices() -> None:
    """A launch of 2^62 threads gets as far as its first fault, in the second chunk."""
    k = wir("""
    kernel @k<2>(%y: array<i64,1>) {
      %i: i64 = tid [axis=1]
      %n: i64 = launch_dim [axis=1]
      store %y, %i, %n
      return
    }""")
    y = np.zeros(8, np.int64)
    view = ArrayView.from_numpy(y)
    outcome = run(k, (2, 1 << 61), [view], chunk=8, stop_on_fault=True)
    assert y.tolist() == [1 << 61] * 8
    assert outcome.faults[0].thread == 8
    assert outcome.faults[0].count == 8


@pytest.mark.parametrize("dims", [(1,), (1, 1, 1, 1, 1), (1, -1), (1 << 40, 1 << 40)])
def test_bad_dims_are_refused(dims: tuple[int, ...]) -> None:
    k = wir("kernel @k<2>() { %i: i32 = tid [axis=1] return }")
    for runner in (run, run_serial):
        with pytest.raises(LaunchError) as caught:
            runner(k, dims, [])
        assert caught.value.codes == ("H0706",)


def test_bad_arguments_are_refused() -> None:
    k = wir("kernel @k<0>(%a: array<f32,1>, %n: i8, %v: vec<f32,2>, %x: f16) { return }")
    good = [ArrayView.from_numpy(np.zeros(2, np.float32)), 3, (1.0, 2.0), 0.5]
    assert run(k, (1,), good).faults == ()
    wrong = [
        [*good, 1],
        [np.zeros(2, np.float32), *good[1:]],
        [ArrayView.from_numpy(np.zeros(2, np.int32)), *good[1:]],
        [ArrayView.from_numpy(np.zeros((2, 2), np.float32)), *good[1:]],
        [good[0], 128, *good[2:]],
        [good[0], 2.5, *good[2:]],
        [*good[:2], (1.0,), 0.5],
        [*good[:2], 1.0, 0.5],
        [*good[:3], "1"],
    ]
    for args in wrong:
        with pytest.raises(LaunchError):
            run(k, (1,), args)
    with pytest.raises(LaunchError):
        run(k, (1,), good, block_dim=0)


@pytest.mark.parametrize(
    "op", ["block_sync", '%s: i32 = shuffle %i, %i [mode="xor"]', '%v: b1 = vote %c [mode="any"]']
)
def test_one_thread_alone_cannot_meet_others(op: str) -> None:
    k = wir(f"kernel @k<1>(%c: b1) {{ %i: i32 = tid [axis=0] {op} return }}")
    run(k, (1,), [True])
    with pytest.raises(HealdError) as caught:
        run_serial(k, (1,), [True])
    assert caught.value.codes == ("H0709",)


def test_results_have_an_entry_for_each_thread() -> None:
    k = wir("""
    kernel @k<1>(%x: f32) -> (i32, vec<f32,2>, bf16) {
      %i: i32 = tid [axis=0]
      %f: f32 = sitofp %i
      %v: vec<f32,2> = compose %x, %f
      %one: i32 = const [value=1]
      %first: b1 = icmp %i, %one [pred="slt"]
      %b: bf16 = const [value=0x1.8p+1]
      if %first () { %m: i32 = const [value=-7] return %m, %v, %b } () { yield }
      return %i, %v, %b
    }""")
    outcome, _ = agree(k, (5,), [2.5])
    i, v, b = outcome.results
    assert i.tolist() == [-7, 1, 2, 3, 4]
    assert v[0].tolist() == [2.5] * 5
    assert v[1].tolist() == [0, 1, 2, 3, 4]
    assert b.dtype == np.uint16
    assert b.tolist() == [0x4040] * 5


def test_reaching_unreachable_is_our_bug() -> None:
    k = parse("kernel @k<0>() { unreachable }", TABLE)
    for runner in (run, run_serial):
        with pytest.raises(InternalError, match="was reached"):
            runner(k, (1,), [])
