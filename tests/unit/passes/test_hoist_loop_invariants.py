"""Loop-invariant code motion: what leaves a loop, and what must not."""

import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of

from heald.ir import Kernel, Op, Region, walk
from heald.passes import guard, hoist_loop_invariants


def hoist(text: str) -> Kernel:
    kernel = guard(kernel_of(text))
    after = hoist_loop_invariants(kernel)
    assert_same(kernel, after, launches_of(kernel, 7), same_faults=True)
    return after


def inside(region: Region) -> list[str]:
    """Names of ops inside loops, nested ones included."""
    found: list[str] = []
    for op in region.ops:
        for inner in op.regions:
            within = op.name in ("for", "while")
            found += [o.name for o in walk(inner)] if within else inside(inner)
    return found


def counted(body: str, low: int = 0, high: int = 3) -> str:
    return f"""
        %i: i32 = tid [axis=0]
        %0: i32 = const [value={low}]
        %3: i32 = const [value={high}]
        %1: i32 = const [value=1]
        %l: local<f32,4> = alloc
        for %0, %3, %1 (%j: i32) {{
          {body}
          yield
        }}
        """


def test_pure_ops_leave_with_their_constants():
    after = hoist(
        counted("%c: f32 = const [value=0x1p+1]\n%s: f32 = fmul %x, %c\nstore %a, %j, %s")
    )
    assert inside(after.body) == ["store", "yield"]


def test_what_depends_on_the_loop_stays():
    after = hoist(counted("%s: i32 = imul %j, %n\n%t: i32 = iadd %s, %n\nstore %m, %j, %j, %t"))
    assert inside(after.body) == ["imul", "iadd", "store", "yield"]


def test_each_op_leaves_as_many_loops_as_it_can():
    after = hoist(
        counted(
            """
          for %0, %3, %1 (%k2: i32) {
            %s: i32 = imul %n, %n
            %q: i32 = imul %j, %s
            %r: i32 = iadd %q, %k2
            store %m, %j, %k2, %r
            yield
          }
            """
        )
    )
    (outer,) = [op for op in after.body.ops if op.name == "for"]
    assert [op.name for op in outer.regions[0].ops] == ["imul", "for", "yield"]
    (inner,) = [op for op in outer.regions[0].ops if op.name == "for"]
    assert [op.name for op in inner.regions[0].ops] == ["iadd", "store", "yield"]


def test_branches_are_no_obstacle_for_pure_ops():
    after = hoist(
        counted("if %p () {\n%s: f32 = fmul %x, %y\nstore %a, %j, %s\nyield\n} () {\nyield\n}")
    )
    assert "fmul" not in inside(after.body)


def test_the_condition_of_a_while_is_part_of_the_loop():
    after = hoist(
        """
        %i: i32 = tid [axis=0]
        %0: i32 = const [value=0]
        %r: i32 = while %0 (%j: i32) {
          %d: i32 = dim %a [axis=0]
          %c: b1 = icmp %j, %d [pred="slt"]
          yield %c
        } (%q: i32) {
          %1: i32 = const [value=1]
          %s: i32 = iadd %q, %1
          yield %s
        }
        store %m, %0, %0, %r
        """
    )
    assert inside(after.body) == ["icmp", "yield", "iadd", "yield"]


@pytest.mark.parametrize("name", ["idiv", "irem"])
def test_a_division_that_may_fault_stays(name):
    body = f"%q: i32 = {name} %n, %k\nstore %m, %j, %j, %q"
    assert name in inside(hoist(counted(body)).body)
    assert name in inside(hoist(counted(body, 3, 0)).body)


def test_a_division_by_a_constant_leaves_unless_that_is_zero():
    body = "%c: i32 = const [value={}]\n%q: i32 = idiv %n, %c\nstore %m, %j, %j, %q"
    assert "idiv" not in inside(hoist(counted(body.format(7))).body)
    assert "idiv" in inside(hoist(counted(body.format(0))).body)


def test_a_proved_division_stays_as_its_proof_may_lie_in_the_branch():
    kernel = kernel_of(
        counted(
            """
          if %p () {
            %q: i32 = idiv %n, %k [guard=false, id=9]
            store %m, %j, %j, %q
            yield
          } () {
            yield
          }
            """
        )
    )
    assert "idiv" in inside(hoist_loop_invariants(kernel).body)


LOAD = "%v: f32 = load %b, %i\nstore %l, %j, %v"


def test_a_load_leaves_a_loop_that_surely_runs():
    assert "load" not in inside(hoist(counted(LOAD)).body)


@pytest.mark.parametrize(
    "text",
    [
        counted(LOAD, 3, 0),  # runs no iteration
        counted(LOAD).replace("for %0, %3, %1", "for %0, %n, %1"),  # may run none
        counted(f"if %p () {{\n{LOAD}\nyield\n}} () {{\nyield\n}}"),  # may not get there
        counted(f"if %p () {{\nbreak\n}} () {{\nyield\n}}\n{LOAD}"),
        counted(f"{LOAD}\nstore %a, %j, %x"),  # %a may be %b
        counted(f"{LOAD}\nstore %m, %j, %j, %n"),  # or %m, in spite of its type
        counted(f"{LOAD}\n%o: i32 = atomic_add %m, %j, %j, %n"),
        counted(f"%q: i32 = idiv %n, %k\nstore %l, %j, %x\n{LOAD}"),  # would fault before %q
    ],
)
def test_a_load_stays_where_it_might_not_run_or_not_read_the_same(text):
    assert "load" in inside(hoist(text).body)


def test_a_load_does_not_pass_a_barrier():
    kernel = kernel_of(counted(f"block_sync\n{LOAD}"))
    assert "load" in inside(hoist_loop_invariants(kernel).body)


def test_local_loads_leave_loops_that_write_global_memory_only():
    body = "%v: f32 = load %l, %1\nstore %a, %j, %v"
    assert "load" not in inside(hoist(counted(body)).body)
    assert "load" in inside(hoist(counted(f"{body}\nstore %l, %j, %x")).body)


def test_a_load_in_the_condition_of_a_while_runs_at_least_once():
    text = """
        %i: i32 = tid [axis=0]
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %9: i32 = const [value=9]
        %k2: i32 = smin %k, %9
        %r: i32 = while %0 (%j: i32) {
          %v: f32 = load %a, %i
          %f: f32 = sitofp %j
          %c: b1 = fcmp %f, %v [pred="olt"]
          %d: b1 = icmp %j, %k2 [pred="slt"]
          %e: b1 = iand %c, %d
          yield %e
        } (%q: i32) {
          %w: f32 = load %b, %i
          %s: i32 = iadd %q, %1
          yield %s
        }
        store %m, %0, %0, %r
        """
    after = hoist(text)
    assert inside(after.body).count("load") == 1


def test_stores_allocations_and_prints_stay():
    body = '%t: local<f32,2> = alloc\nstore %t, %0, %x\nprintf [text="", kinds=""]'
    assert {"alloc", "store", "printf"} <= set(inside(hoist(counted(body)).body))


def test_a_kernel_without_loops_is_given_back():
    kernel = kernel_of("%i: i32 = tid [axis=0]\nstore %a, %i, %x")
    assert hoist_loop_invariants(kernel) is kernel


def test_hoisted_ops_keep_their_values():
    kernel = kernel_of(counted("%s: f32 = fmul %x, %y\nstore %a, %j, %s"))
    after = hoist_loop_invariants(kernel)
    before = {op for op in walk(kernel.body) if not op.regions}
    moved: list[Op] = [op for op in walk(after.body) if not op.regions]
    assert before == set(moved)
