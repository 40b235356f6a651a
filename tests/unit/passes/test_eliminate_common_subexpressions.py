"""Common subexpressions: what is merged, and what must not be."""

import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of

from heald.interp import run
from heald.ir import Kernel, walk
from heald.passes import eliminate_common_subexpressions, guard


def cse(text: str) -> Kernel:
    kernel = guard(kernel_of(text))
    after = eliminate_common_subexpressions(kernel)
    assert_same(kernel, after, launches_of(kernel, 5), same_faults=True)
    return after


def count(kernel: Kernel, name: str) -> int:
    return sum(op.name == name for op in walk(kernel.body))


def between(middle: str) -> str:
    """Two equal loads from %a with ops between them."""
    return f"""
        %i: i32 = tid [axis=0]
        %l: local<f32,4> = alloc
        %v: f32 = load %a, %i
        {middle}
        %w: f32 = load %a, %i
        %s: f32 = fadd %v, %w
        store %b, %i, %s
        """


def test_equal_ops_are_one():
    after = cse(
        """
        %i: i32 = tid [axis=0]
        %j: i32 = tid [axis=0]
        %0: i32 = iadd %i, %n
        %1: i32 = iadd %j, %n
        %2: i32 = iadd %n, %i
        store %m, %0, %1, %2
        """
    )
    assert count(after, "tid") == 1
    assert count(after, "iadd") == 2  # operands are not exchanged
    assert len(set(after.body.ops[-2].operands[1:3])) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("const [value=0x0p+0]", "const [value=-0x0p+0]"),
        ("fadd %x, %y", "fsub %x, %y"),
        ("fsub %x, %y", "fsub %y, %x"),
    ],
)
def test_different_ops_stay_apart(first, second):
    after = cse(
        f"""
        %i: i32 = tid [axis=0]
        %0: f32 = {first}
        %1: f32 = {second}
        %2: f32 = copysign %0, %1
        store %a, %i, %2
        """
    )
    store = after.body.ops[-2]
    assert len(set(list(walk(after.body))[-3].operands)) == 2
    assert store.name == "store"


def test_attributes_and_types_count():
    after = cse(
        """
        %0: b1 = icmp %n, %k [pred="slt"]
        %1: b1 = icmp %n, %k [pred="sle"]
        %2: i32 = dim %m [axis=0]
        %3: i32 = dim %m [axis=1]
        %4: i64 = dim %m [axis=1]
        %5: i64 = sext %n
        %6: i64 = zext %n
        assert %0 [message=""]
        assert %1 [message=""]
        store %m, %5, %6, %3
        store %m, %4, %2, %3
        """
    )
    assert (count(after, "icmp"), count(after, "dim")) == (2, 3)
    assert (count(after, "sext"), count(after, "zext")) == (1, 1)


def test_loads_merge_where_nothing_writes():
    assert count(cse(between("")), "load") == 1
    assert count(cse(between("store %l, %i, %x")), "load") == 1
    assert count(cse(between('printf [text="hello", kinds=""]')), "load") == 1


@pytest.mark.parametrize(
    "write",
    [
        "store %a, %i, %x",
        "store %b, %i, %x",
        "store %m, %i, %i, %n",
        "%o: i32 = atomic_add %m, %i, %i, %n",
        "if %p () {\nstore %b, %i, %x\nyield\n} () {\nyield\n}",
        "%c: i32 = const [value=1]\nfor %n, %k, %c (%j: i32) {\nstore %b, %i, %x\nyield\n}",
    ],
)
def test_any_write_to_global_memory_comes_between_loads(write):
    """Any two arrays may overlap, whatever their element types."""
    assert count(cse(between(write)), "load") == 2


def test_overlapping_arrays_show_why():
    kernel = kernel_of(between("store %m, %i, %i, %n"))
    (launch,) = launches_of(kernel, 5, (5,))
    dims, arguments = launch
    a, m = arguments[0], arguments[2]
    arguments[0] = type(a)(m.buffer, 0, (5,), (24,), a.dtype)  # the diagonal of %m
    # `observe` copies arguments apart, so run on the shared buffer itself.
    seen = []
    for k in (kernel, eliminate_common_subexpressions(kernel)):
        buffer = m.buffer.copy()
        given = list(arguments)
        given[0] = type(a)(buffer, 0, (5,), (24,), a.dtype)
        given[2] = type(a)(buffer, 0, m.shape, m.strides, m.dtype)
        given[1] = type(a).allocate(a.dtype, (5,))
        run(k, dims, given)
        seen.append((buffer.tobytes(), given[1].buffer.tobytes()))
    assert seen[0] == seen[1]


def test_a_write_to_local_memory_comes_between_local_loads_only():
    after = cse(
        """
        %i: i32 = const [value=1]
        %l: local<f32,4> = alloc
        %v: f32 = load %l, %i
        store %a, %i, %x
        %w: f32 = load %l, %i
        store %l, %i, %y
        %u: f32 = load %l, %i
        %s: f32 = fma %v, %w, %u
        store %b, %i, %s
        """
    )
    assert count(after, "load") == 2


def test_a_barrier_comes_between_loads():
    kernel = kernel_of(between("block_sync"))
    assert count(eliminate_common_subexpressions(kernel), "load") == 2


def test_a_loop_that_writes_makes_its_first_load_new():
    after = cse(
        """
        %i: i32 = tid [axis=0]
        %1: i32 = const [value=1]
        %v: f32 = load %a, %i
        %r: f32 = for %1, %n, %1, %v (%j: i32, %s: f32) {
          %w: f32 = load %a, %i
          %t: f32 = fadd %w, %s
          store %a, %i, %t
          yield %t
        }
        store %b, %i, %r
        """
    )
    assert count(after, "load") == 2


def test_what_a_region_computes_is_not_available_after_it():
    after = cse(
        """
        %i: i32 = tid [axis=0]
        if %p () {
          %0: i32 = iadd %n, %k
          store %m, %i, %i, %0
          yield
        } () {
          %1: i32 = iadd %n, %k
          store %m, %i, %i, %1
          yield
        }
        %2: i32 = iadd %n, %k
        if %p () {
          %3: i32 = iadd %n, %k
          store %m, %i, %i, %3
          yield
        } () {
          yield
        }
        store %m, %i, %i, %2
        """
    )
    assert count(after, "iadd") == 3


def test_divisions_merge_as_the_first_one_faults():
    after = cse(
        """
        %i: i32 = tid [axis=0]
        %0: i32 = idiv %n, %k
        %1: i32 = idiv %n, %k
        store %m, %i, %0, %1
        """
    )
    assert count(after, "idiv") == 1


def test_atomics_allocations_and_prints_are_never_merged():
    after = cse(
        """
        %0: i32 = const [value=0]
        %1: i32 = atomic_add %m, %0, %0, %n
        %2: i32 = atomic_add %m, %0, %0, %n
        %3: local<i32,2> = alloc
        %4: local<i32,2> = alloc
        store %3, %0, %1
        %5: i32 = load %4, %0
        store %m, %0, %0, %5
        printf [text="x", kinds=""]
        printf [text="x", kinds=""]
        """
    )
    assert [count(after, n) for n in ("atomic_add", "alloc", "printf")] == [2, 2, 2]


def test_guards_and_ids_do_not_keep_equal_loads_apart():
    kernel = kernel_of(
        """
        %i: i32 = const [value=1]
        %v: f32 = load %a, %i [guard=false, id=1]
        %w: f32 = load %a, %i [guard=true, id=2]
        %s: f32 = fadd %v, %w
        store %b, %i, %s
        """
    )
    after = eliminate_common_subexpressions(kernel)
    (load,) = [op for op in walk(after.body) if op.name == "load"]
    assert dict(load.attrs) == {"guard": False, "id": 1}
