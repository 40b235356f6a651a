"""What the interval analysis proves of kernels that people write, and what it must not prove."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from unit.frontend.harness import lower
from unit.passes.launches import kernel_of

import heald as wp
from heald.artifact import LaunchCondition, Symbol
from heald.ir import OBLIGATIONS, Kernel, Op, op_ids, walk
from heald.passes import FRONT, Intervals, Verdict, analyse_intervals, guard, run_pipeline
from heald.passes.interval_facts import Facts
from heald.passes.interval_state import State
from heald.passes.intervals import _Analysis, _deciding

F1 = wp.array(dtype=wp.float32)
F2 = wp.array(dtype=wp.float32, ndim=2)
I1 = wp.array(dtype=wp.int32)


def analyse(kernel: Any, **options: Any) -> tuple[Kernel, Intervals]:
    wir = kernel if isinstance(kernel, Kernel) else lower(kernel, **options)
    wir = run_pipeline(wir, FRONT, check=True)
    return wir, analyse_intervals(wir)


def accesses(wir: Kernel, found: Intervals) -> str:
    """One letter for each access, division and loop: proved, conditional, or open."""
    letters = []
    for op in walk(wir.body):
        if op.name in OBLIGATIONS:
            letters.append("p" if op in found.proved else "c" if op in found.proved_under else "-")
    return "".join(letters)


def describe(wir: Kernel, condition: LaunchCondition) -> set[str]:
    def name(symbol: Symbol) -> str:
        if symbol.kind == "dim":
            return f"dim[{symbol.axis}]"
        parameter = wir.name_of(wir.params[symbol.parameter])
        return f"{parameter}.shape[{symbol.axis}]" if symbol.kind == "shape" else parameter

    return set(condition.describe(name).split(" and "))


def expect(kernel: Any, letters: str, *clauses: str) -> None:
    wir, found = analyse(kernel)
    assert accesses(wir, found) == letters
    assert describe(wir, found.conditional) == set(clauses or ["always"])


# ------------------------------------------------------------------------------ proved always


@wp.kernel
def guarded_by_shapes(a: F1, b: F1):
    i = wp.tid()
    if i < a.shape[0] and i < b.shape[0]:
        b[i] = a[i]


@wp.kernel
def early_return(a: F1):
    i = wp.tid()
    if i >= a.shape[0]:
        return
    a[i] = 1.0


@wp.kernel
def loop_over_rows(a: F2, b: F1):
    for i in range(wp.min(a.shape[0], b.shape[0])):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        b[i] = s


@wp.kernel
def backwards(a: F1):
    for i in range(a.shape[0] - 1, -1, -1):
        a[i] = a[a.shape[0] - 1 - i]


@wp.kernel
def three_points(a: F1):
    i = wp.tid()
    if i > 0 and i < a.shape[0] - 1:
        a[i] = a[i - 1] + a[i + 1]


@wp.kernel
def gather_guarded(a: F1, index: I1):
    for i in range(index.shape[0]):
        j = index[i]
        if 0 <= j < a.shape[0]:
            a[j] = 0.0


@wp.kernel
def window(a: F2):
    i, j = wp.tid()
    for di in range(-1, 2):
        for dj in range(-1, 2):
            y = i + di
            x = j + dj
            if y >= 0 and y < a.shape[0] and x >= 0 and x < a.shape[1]:
                a[y, x] = 0.0


@wp.kernel
def pairs(a: F1):
    i = wp.tid()
    if i < a.shape[0] // 2:
        a[2 * i] = a[2 * i + 1]


@wp.kernel
def march(a: F1):
    k = 0
    while k < a.shape[0] and a[k] > 0.0:
        k += 1
    if k < a.shape[0]:
        a[k] = 1.0


@wp.kernel
def bisect(a: F1, x: float):
    lo = 0
    hi = a.shape[0]
    while lo < hi:
        mid = lo + (hi - lo) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid


@wp.kernel
def two_counters(a: F1):
    k = 0
    for i in range(a.shape[0] // 2):
        a[k] = 1.0
        a[k + 1] = a[i]
        k += 2


@wp.kernel
def local_table(x: float):
    t = wp.zeros(shape=8, dtype=wp.float32)
    for j in range(8):
        t[j] = x
    for j in range(0, 8, 4):
        t[j + 3] = t[7 - j]


@wp.kernel
def wrap_index(a: F1):
    i = wp.tid()
    n = a.shape[0]
    if n > 0:
        a[i % n] = 1.0


@wp.kernel
def triangle(a: F2):
    i = wp.tid()
    if i < a.shape[0] and i < a.shape[1]:
        for j in range(i):
            a[i, j] = a[j, i]


@wp.kernel
def row_view(a: F2):
    i = wp.tid()
    if i < a.shape[0]:
        row = a[i]
        for j in range(row.shape[0]):
            row[j] = 0.0


@wp.func
def clipped(i: int, n: int) -> int:
    if i < 0:
        return 0
    if i >= n:
        return n - 1
    return i


@wp.kernel
def inlined_clip(a: F1, k: int):
    if a.shape[0] > 0:
        a[clipped(k, a.shape[0])] = 1.0


@pytest.mark.parametrize(
    "kernel",
    [
        guarded_by_shapes,
        early_return,
        loop_over_rows,
        backwards,
        three_points,
        gather_guarded,
        window,
        pairs,
        march,
        bisect,
        two_counters,
        local_table,
        wrap_index,
        triangle,
        row_view,
        inlined_clip,
    ],
    ids=lambda k: k.__name__,
)
def test_proved_in_every_launch(kernel):
    wir, found = analyse(kernel)
    assert set(accesses(wir, found)) == {"p"}
    assert found.conditional == LaunchCondition()
    assert not found.proved_under


# ------------------------------------------------------------------------------ proved under


@wp.kernel
def saxpy(a: F1, b: F1):
    i = wp.tid()
    b[i] = b[i] + a[i]


@wp.kernel
def guarded_by_n(a: F1, n: int):
    i = wp.tid()
    if i >= n:
        return
    a[i] = 1.0


@wp.kernel
def matrix_product(a: F2, b: F2, c: F2):
    i, j = wp.tid()
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def reverse(a: F1, n: int):
    a[n - 1 - wp.tid()] = 1.0


@wp.kernel
def blocks(a: F1):
    i = wp.tid()
    for j in range(4):
        a[i * 4 + j] = 1.0


@wp.kernel
def grid_stride(a: F1, n: int, stride: int):
    for j in range(wp.tid(), n, stride):
        a[j] = 1.0


@wp.kernel
def histogram(a: I1, bins: I1):
    wp.atomic_add(bins, a[wp.tid()] & 255, 1)


@wp.kernel
def five_points(a: F1, n: int):
    i = wp.tid()
    if i >= 2 and i < n - 2:
        a[i - 2] = a[i + 2]


@wp.kernel
def inner(a: F1):
    i = wp.tid()
    if i == 0 or i == a.shape[0] - 1:
        return
    a[i - 1] = a[i + 1]


@wp.kernel
def clamped(a: F1):
    i = wp.tid()
    a[wp.min(i + 1, a.shape[0] - 1)] = a[wp.max(i - 1, 0)]


@wp.kernel
def chunk_sums(a: F1, sums: F1):
    c = wp.tid()
    start = c * 4096
    total = 0.0
    for i in range(start, start + wp.min(a.shape[0] - start, 4096)):
        total += a[i]
    sums[c] = total


@wp.kernel
def hashed_beside_chunks(a: F1, seeds: I1):
    c = wp.tid()
    a[c * 4096] = 1.0
    seeds[c] = c * 2654435 + 12345


@wp.kernel
def numbers_of_no_place(a: I1, n: int, k: int):
    i = wp.tid()
    a[i] = (i + n) * 3 - k


@pytest.mark.parametrize(
    ("kernel", "letters", "clauses"),
    [
        (saxpy, "ccc", ["dim[0] <= a.shape[0]", "dim[0] <= b.shape[0]"]),
        (guarded_by_n, "c", ["n <= a.shape[0]"]),
        (
            matrix_product,
            "pccc",
            [
                "dim[0] <= a.shape[0]",
                "dim[0] <= c.shape[0]",
                "dim[1] <= b.shape[1]",
                "dim[1] <= c.shape[1]",
                "a.shape[1] <= b.shape[0]",
            ],
        ),
        (reverse, "c", ["dim[0] <= n", "n <= a.shape[0]"]),
        (blocks, "pc", ["4 * dim[0] <= a.shape[0]"]),
        (grid_stride, "cc", ["1 <= stride", "n <= a.shape[0]"]),
        (histogram, "cc", ["dim[0] <= a.shape[0]", "256 <= bins.shape[0]"]),
        (five_points, "cc", ["0 <= n + 2147483646", "n <= a.shape[0]"]),
        (inner, "cc", ["dim[0] <= a.shape[0]"]),
        (clamped, "cc", ["1 <= a.shape[0]", "dim[0] <= a.shape[0] + 1"]),
        (chunk_sums, "pcc", ["dim[0] <= 524288", "dim[0] <= sums.shape[0]"]),
        (numbers_of_no_place, "c", ["dim[0] <= a.shape[0]"]),
        (
            hashed_beside_chunks,
            "cc",
            ["4096 * dim[0] <= a.shape[0] + 4095", "dim[0] <= seeds.shape[0]"],
        ),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_proved_where_the_launch_fits(kernel, letters, clauses):
    expect(kernel, letters, *clauses)


def test_a_condition_decides_launches():
    wir, found = analyse(saxpy)

    def holds(dim: int, a: int, b: int) -> bool:
        sizes = {("dim", 0): dim, ("shape", 0): a, ("shape", 1): b}
        return found.conditional.holds(lambda s: sizes[s.kind, s.parameter])

    assert holds(5, 5, 5)
    assert not holds(6, 5, 6)
    assert not holds(6, 6, 5)
    assert set(found.verdicts(wir).values()) == {Verdict.CONDITIONAL}


# ------------------------------------------------------------------------------ open


@wp.kernel
def gather(a: F1, index: I1):
    i = wp.tid()
    if i < index.shape[0]:
        a[index[i]] = 1.0


@wp.kernel
def linearised(a: F1, w: int):
    i, j = wp.tid()
    a[i * w + j] = 1.0


@wp.kernel
def believed(a: F1, index: I1):
    j = index[0]
    assert 0 <= j < a.shape[0]
    a[j] = 1.0


@wp.kernel
def read_before(a: F1, b: F1, index: I1):
    j = index[0]
    x = a[j]
    a[j] = x


@wp.kernel
def midpoint_that_wraps(a: F1, x: float):
    lo = 0
    hi = a.shape[0]
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid


@wp.kernel
def one_too_many(a: F1):
    for i in range(a.shape[0]):
        a[i + 1] = 0.0


@wp.kernel
def below_zero(a: F1):
    i = wp.tid()
    if i < a.shape[0]:
        a[i - 1] = 0.0


@pytest.mark.parametrize(
    ("kernel", "open_accesses"),
    [
        (gather, 1),
        (linearised, 1),
        (believed, 1),
        (read_before, 2),
        (one_too_many, 1),
        (below_zero, 1),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_is_not_known_stays_guarded(kernel, open_accesses):
    wir, found = analyse(kernel)
    memory = [op for op in walk(wir.body) if op.name in ("load", "store")]
    assert sum(op not in found.proved | found.proved_under for op in memory) == open_accesses


def test_a_midpoint_that_may_wrap_needs_a_small_array():
    wir, found = analyse(midpoint_that_wraps)
    (load,) = [op for op in walk(wir.body) if op.name == "load"]
    assert load in found.proved_under
    assert describe(wir, found.conditional) == {"a.shape[0] <= 1073741824"}


def test_a_proof_that_rests_on_an_assumption_is_none():
    kernel = kernel_of(
        """
        %i: i32 = tid [axis=0]
        %d: i32 = dim %a [axis=0]
        %c: b1 = icmp %k, %d [pred="ult"]
        assume %c
        store %a, %k, %x
        """
    )
    found = analyse_intervals(kernel)
    (store,) = [op for op in walk(kernel.body) if op.name == "store"]
    assert store not in found.proved
    assert store in found.proved_under  # where the launch checks %k itself
    assert len(found.conditional.clauses) == 2


def test_a_checked_access_says_nothing_of_its_index():
    """The thread goes on after a fault, and would read outside where the guard is gone."""
    kernel = kernel_of(
        """
        %i: i32 = tid [axis=0]
        %0: i32 = load %m, %i, %i
        %v: f32 = load %a, %0
        %w: f32 = load %a, %0
        store %b, %i, %w
        """
    )
    found = analyse_intervals(kernel)
    loads = [op for op in walk(kernel.body) if op.name == "load"]
    assert not {loads[1], loads[2]} & (found.proved | found.proved_under)


# ------------------------------------------------------------------------------ wrap-around


def proved(text: str, pick: Callable[[Op], bool] = lambda op: op.name == "store") -> list[bool]:
    kernel = kernel_of(text)
    found = analyse_intervals(kernel)
    return [op in found.proved for op in walk(kernel.body) if pick(op)]


SHIFTED = """
    %i: i32 = tid [axis=0]
    %d: i32 = dim %a [axis=0]
    %c: i32 = const [value={}]
    %s: i32 = iadd %i, %c
    %0: i32 = const [value=0]
    %lo: b1 = icmp %s, %0 [pred="sge"]
    %hi: b1 = icmp %s, %d [pred="slt"]
    %in: b1 = iand %hi, {}
    if %in () {{
      store %a, %{}, %x
      yield
    }} () {{
      yield
    }}
    """


def test_a_sum_that_may_wrap_is_not_compared_as_if_it_did_not():
    # tid + 1 still fits: tid is below a launch extent of at most 2^31 - 1.
    assert proved(SHIFTED.format(1, "%hi", "s")) == [True]
    assert proved(SHIFTED.format(1, "%hi", "i")) == [True]
    # tid + 2 may be -2^31, which is less than any extent.
    assert proved(SHIFTED.format(2, "%hi", "s")) == [False]
    assert proved(SHIFTED.format(2, "%hi", "i")) == [False]
    # Tested on both sides, the sum itself is inside; the thread index need not be.
    assert proved(SHIFTED.format(2, "%lo", "s")) == [True]
    assert proved(SHIFTED.format(2, "%lo", "i")) == [False]


def test_where_the_launch_is_small_enough_the_sum_does_not_wrap():
    kernel = kernel_of(SHIFTED.format(2, "%hi", "s"))
    found = analyse_intervals(kernel)
    (store,) = [op for op in walk(kernel.body) if op.name == "store"]
    assert store in found.proved_under
    assert describe(kernel, found.conditional) == {"dim[0] <= 2147483646"}


def test_sums_that_wrap_back_are_the_same_number():
    text = """
        %i: i32 = tid [axis=0]
        %d: i32 = dim %a [axis=0]
        %c: i32 = const [value=2147483647]
        %s: i32 = iadd %i, %c
        %t: i32 = isub %s, %c
        %q: b1 = icmp %i, %d [pred="slt"]
        if %q () {
          store %a, %t, %x
          yield
        } () {
          yield
        }
        """
    assert proved(text) == [True]


def test_a_wide_index_is_not_cut_to_32_bits_unseen():
    text = """
        %i: i32 = tid [axis=0]
        %d: i32 = dim %a [axis=0]
        %w: i64 = sext %n
        %c: i64 = const [value=4294967296]
        %s: i64 = iadd %w, %c
        %t: i32 = trunc %s
        %q: b1 = icmp %n, %d [pred="ult"]
        if %q () {
          store %a, %t, %x
          store %a, %s, %x
          store %a, %w, %x
          yield
        } () {
          yield
        }
        """
    assert proved(text) == [True, False, True]


def test_zero_extension_of_a_negative_number_is_large():
    text = """
        %i: i32 = tid [axis=0]
        %d: i64 = dim %a [axis=0]
        %w: i64 = zext %n
        %s: i64 = sext %n
        %q: b1 = icmp %s, %d [pred="slt"]
        if %q () {
          store %a, %w, %x
          yield
        } () {
          yield
        }
        """
    assert proved(text) == [False]


@pytest.mark.parametrize(("pred", "fine"), [("ult", True), ("slt", False), ("ule", False)])
def test_an_unsigned_comparison_excludes_negative_numbers(pred, fine):
    text = f"""
        %d: i32 = dim %a [axis=0]
        %q: b1 = icmp %n, %d [pred="{pred}"]
        if %q () {{
          store %a, %n, %x
          yield
        }} () {{
          yield
        }}
        """
    assert proved(text) == [fine]


def test_a_kernel_with_wide_indices_may_meet_any_extent():
    def text(t: str) -> str:
        return f"""
            %i: {t} = tid [axis=0]
            %d: {t} = dim %a [axis=0]
            %q: b1 = icmp %i, %d [pred="slt"]
            if %q () {{
              {"%s: i32 = trunc %i" if t == "i64" else "%z: i32 = const [value=0]"}
              store %a, {"%s" if t == "i64" else "%i"}, %x
              yield
            }} () {{
              yield
            }}
            """

    assert proved(text("i32")) == [True]
    assert proved(text("i64")) == [False]


# ------------------------------------------------------------------------------ divisors, steps


def test_divisors_and_steps():
    text = """
        %0: i32 = const [value=0]
        %3: i32 = const [value=3]
        %q: i32 = idiv %n, %3
        %r: i32 = irem %n, %k
        %s: i32 = idiv %n, %0
        %c: b1 = icmp %k, %0 [pred="sgt"]
        if %c () {
          %t: i32 = irem %n, %k
          for %0, %n, %k (%j: i32) {
            yield
          }
          yield
        } () {
          yield
        }
        for %0, %n, %q (%j2: i32) {
          yield
        }
        """
    kernel = kernel_of(text)
    found = analyse_intervals(kernel)
    ops = {kernel.name_of(op.results[0]): op for op in walk(kernel.body) if op.results}
    loops = [op for op in walk(kernel.body) if op.name == "for"]
    assert found.proved == {ops["q"], ops["t"], loops[0]}
    # %k is tested by the launch; nothing can save a division by 0.
    assert ops["r"] in found.proved_under
    assert ops["s"] not in found.proved | found.proved_under


def test_verdicts_decide_guards():
    wir, found = analyse(guarded_by_n)
    proofs = found.verdicts(wir)
    for bounds in (False, True):
        after = guard(wir, proofs=proofs, bounds=bounds)
        (store,) = [op for op in walk(after.body) if op.name == "store"]
        assert store.attrs["guard"] is not bounds


# ------------------------------------------------------------------------------ loops and views


def test_a_value_that_an_iteration_may_lower_is_not_believed_to_stay():
    def loop(following: str) -> str:
        return f"""
            %0: i32 = const [value=0]
            %1: i32 = const [value=1]
            %d: i32 = dim %a [axis=0]
            %r: i32 = while %0 (%j: i32) {{
              %c: b1 = icmp %j, %d [pred="slt"]
              yield %c
            }} (%q: i32) {{
              store %a, %q, %x
              %t: i32 = {following}
              yield %t
            }}
            """

    assert proved(loop("iadd %q, %1")) == [True]
    assert proved(loop("smax %q, %0")) == [True]
    assert proved(loop("isub %q, %1")) == [False]
    assert proved(loop("ixor %q, %n")) == [False]


def test_every_way_to_the_next_iteration_counts():
    text = """
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %d: i32 = dim %a [axis=0]
        %r: i32 = for %0, %d, %1, %0 (%j: i32, %q: i32) {
          %c: b1 = icmp %q, %d [pred="slt"]
          if %c () {
            store %a, %q, %x
            yield
          } () {
            yield
          }
          if %p () {
            continue %NEXT
          } () {
            yield
          }
          yield %j
        }
        """
    assert proved(text.replace("%NEXT", "%j")) == [True]
    assert proved(text.replace("%NEXT", "%n")) == [False]


def test_what_a_break_carries_is_not_what_iterations_carry():
    text = """
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %d: i32 = dim %a [axis=0]
        %some: b1 = icmp %d, %0 [pred="sgt"]
        if %some () {
          %r: i32 = for %0, %d, %1, %0 (%j: i32, %q: i32) {
            if %p () {
              break %OUT
            } () {
              yield
            }
            yield %0
          }
          store %a, %r, %x
          yield
        } () {
          yield
        }
        """
    assert proved(text.replace("%OUT", "%0")) == [True]
    assert proved(text.replace("%OUT", "%n")) == [False]


@pytest.mark.parametrize(
    ("start", "length", "step", "fine"),
    [
        ("%0", "%d", "%1", True),
        ("%1", "%d", "%1", False),
        ("%0", "%d", "%2", False),
        ("%0", "%n", "%1", False),
        ("%1", "%less", "%1", True),
    ],
)
def test_views(start, length, step, fine):
    text = f"""
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %2: i32 = const [value=2]
        %d: i32 = dim %a [axis=0]
        %e: i32 = isub %d, %1
        %less: i32 = smax %e, %0
        %some: b1 = icmp %d, %1 [pred="sgt"]
        if %some () {{
          %v: array<f32,1> = subview %a, {start}, {length}, {step} [axes="s"]
          for %0, {length}, %1 (%j: i32) {{
            store %v, %j, %x
            yield
          }}
          yield
        }} () {{
          yield
        }}
        """
    assert proved(text, lambda op: op.name in ("store", "subview")) == [fine, fine]


def test_extents_of_a_view_that_may_be_empty_are_its_own():
    text = """
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %v: array<f32,1> = subview %a, %n, %k, %1 [axes="s"]
        %e: i32 = dim %v [axis=0]
        for %0, %e, %1 (%j: i32) {
          store %v, %j, %x
          yield
        }
        """
    assert proved(text, lambda op: op.name in ("store", "subview")) == [False, True]


def test_arrays_in_structs_are_known_by_their_leaf():
    kernel = kernel_of(
        """struct @T {n: i32, a: array<f32,1>}
        kernel @k<1>(%t: struct<T>, %x: f32) {
          %i: i32 = tid [axis=0]
          %a: array<f32,1> = extract %t [leaf=1]
          %n: i32 = extract %t [leaf=0]
          %b: array<f32,1> = extract %t [leaf=1]
          %d: i32 = dim %b [axis=0]
          %c: b1 = icmp %i, %d [pred="slt"]
          if %c () {
            store %a, %i, %x
            yield
          } () {
            yield
          }
          store %a, %n, %x
          return
        }"""
    )
    found = analyse_intervals(kernel)
    first, second = (op for op in walk(kernel.body) if op.name == "store")
    assert first in found.proved
    assert second in found.proved_under
    symbols = {symbol for clause in found.conditional.clauses for _, symbol in clause.terms}
    assert symbols == {Symbol("value", 0, 0), Symbol("shape", 0, 1, 0)}


def test_hopeless_kernels_take_bounded_effort():
    """Nested loops over values that nothing is known of."""
    body = "store %m, %q, %s, %n"
    for depth in range(6):
        body = f"""
            %r{depth}: i32, %u{depth}: i32 = for %n, %k, %1, %q, %s
                (%j{depth}: i32, %q: i32, %s: i32) {{
              {body}
              %a{depth}: i32 = ixor %q, %j{depth}
              %b{depth}: i32 = imul %s, %a{depth}
              yield %a{depth}, %b{depth}
            }}
            """.replace("%q", f"%q{depth}").replace("%s", f"%s{depth}")
        body = body.replace(f"%q{depth}, %s{depth}\n", "%q, %s\n", 1)
    kernel = kernel_of(
        f"%1: i32 = const [value=1]\n%q: i32 = isub %n, %k\n%s: i32 = ineg %k\n{body}"
    )
    assert not [op for op in analyse_intervals(kernel).proved if op.name == "store"]
    state = State(kernel, ask=True, facts=Facts(effort=500))
    analysis = _Analysis(state, _deciding(kernel))
    analysis.run()
    assert analysis.visits < 1000 * len(op_ids(kernel))
    assert state.facts.effort > -200
