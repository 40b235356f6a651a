"""Dead code and carried values."""

import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of

from heald.ir import Kernel, walk
from heald.passes import drop_dead, forward_copies, guard, prune_carried
from heald.passes.liveness import find_live


def names(kernel: Kernel) -> list[str]:
    return [op.name for op in walk(kernel.body)]


def dropped(text: str) -> Kernel:
    kernel = guard(kernel_of(text))
    after = drop_dead(kernel)
    assert_same(kernel, after, launches_of(kernel, 2))
    return after


def pruned(text: str) -> Kernel:
    kernel = guard(kernel_of(text))
    after = prune_carried(forward_copies(kernel))
    assert_same(kernel, after, launches_of(kernel, 2))
    return after


def test_chains_of_unread_ops_go():
    after = dropped(
        """
        %i: i32 = tid [axis=0]
        %v: f32 = load %a, %i
        %w: f32 = fmul %v, %x
        %q: i32 = idiv %n, %k
        %t: array<f32,1> = subview %a, %q, %q, %q [axes="s"]
        %l: local<f32,2> = alloc
        store %a, %i, %x
        """
    )
    assert names(after) == ["tid", "store", "return"]


def test_ops_with_effects_stay():
    text = """
        %i: i32 = tid [axis=0]
        %o: i32 = atomic_add %m, %i, %i, %n
        assert %p [message="p"]
        assume %p
        printf %x [text="{}", kinds="f"]
        """
    assert names(dropped(text)) == [
        "tid",
        "atomic_add",
        "assert",
        "assume",
        "printf",
        "return",
    ]


def test_a_barrier_and_an_exchange_stay():
    kernel = kernel_of('block_sync\n%l: i32 = lane\n%s: i32 = shuffle %n, %l [mode="index"]')
    assert drop_dead(kernel) is kernel


def test_a_branch_without_effects_goes_and_one_with_stays():
    after = dropped(
        """
        %i: i32 = tid [axis=0]
        %c: b1 = icmp %n, %k [pred="slt"]
        %v: f32 = if %c () {
          %w: f32 = fadd %x, %y
          yield %w
        } () {
          yield %x
        }
        if %p () {
          store %a, %i, %x
          yield
        } () {
          yield
        }
        """
    )
    assert names(after) == ["tid", "if", "store", "yield", "yield", "return"]


def test_unread_results_of_a_branch_are_trimmed():
    after = dropped(
        """
        %i: i32 = tid [axis=0]
        %v: f32, %w: f32 = if %p () {
          %0: f32 = fadd %x, %y
          %1: f32 = fsub %x, %y
          yield %0, %1
        } () {
          yield %y, %x
        }
        store %a, %i, %w
        """
    )
    assert names(after) == ["tid", "if", "fsub", "yield", "yield", "store", "return"]


def test_unread_results_of_a_scope_are_trimmed():
    after = dropped(
        """
        %i: i32 = tid [axis=0]
        %v: f32, %w: f32 = scope () {
          if %p () {
            %0: f32 = fadd %x, %y
            return %0, %x
          } () {
            yield
          }
          return %y, %y
        }
        store %a, %i, %w
        """
    )
    assert "fadd" not in names(after)
    assert [len(op.operands) for op in walk(after.body) if op.name == "return"] == [1, 1, 0]


def test_a_loop_that_ends_goes_and_one_that_may_not_stays():
    loop = """
        %1: i32 = const [value={}]
        %r: f32 = for %n, %k, %1, %x (%j: i32, %s: f32) {{
          %t: f32 = fadd %s, %y
          yield %t
        }}
        """
    assert names(dropped(loop.format(2))) == ["return"]
    assert "for" in names(dropped(loop.format(0)))  # step 0 is a fault
    forever = """
        %t: b1 = const [value=true]
        while () {
          yield %t
        } () {
          yield
        }
        """
    assert "while" in names(drop_dead(kernel_of(forever)))


def test_a_step_that_may_be_zero_keeps_its_loop_until_it_is_proved():
    text = "for %n, %k, %k [guard={}, id=0] (%j: i32) {{\nyield\n}}"
    assert "for" in names(drop_dead(kernel_of(text.format("true"))))
    assert "for" not in names(drop_dead(kernel_of(text.format("false"))))
    assert "for" in names(
        drop_dead(kernel_of(text.format("true").replace(" [guard=true, id=0]", "")))
    )


def test_a_loop_that_ends_the_thread_stays():
    after = dropped(
        """
        %i: i32 = tid [axis=0]
        %1: i32 = const [value=1]
        for %n, %k, %1 (%j: i32) {
          %c: b1 = icmp %j, %i [pred="sgt"]
          if %c () {
            return
          } () {
            yield
          }
          yield
        }
        store %a, %i, %x
        """
    )
    assert [n for n in names(after) if n != "const"] == [
        "tid", "for", "icmp", "if", "return", "yield", "yield", "store", "return"
    ]  # fmt: skip


def test_a_break_keeps_what_decides_it():
    after = dropped(
        """
        %i: i32 = tid [axis=0]
        %1: i32 = const [value=1]
        %r: f32 = for %n, %k, %1, %x (%j: i32, %s: f32) {
          %q: i32 = imul %j, %i
          %c: b1 = icmp %q, %k [pred="sgt"]
          if %c () {
            break %s
          } () {
            yield
          }
          %t: f32 = fadd %s, %y
          yield %t
        }
        store %a, %i, %r
        """
    )
    assert "imul" in names(after)


# ------------------------------------------------------------------------------ carried values

CARRIED = """
    %i: i32 = tid [axis=0]
    %1: i32 = const [value=1]
    %r: f32, %u: i32, %z: f32 = for %n, %k, %1, %x, %n, %y (%j: i32, %s: f32, %c: i32, %d: f32) {
      %t: f32 = fadd %s, %d
      %e: i32 = iadd %c, %j
      yield %t, %e, %d
    }
    store %a, %i, %r
    """


def loop_of(kernel: Kernel):
    (loop,) = [op for op in walk(kernel.body) if op.name in ("for", "while")]
    return loop


def test_values_that_only_carry_themselves_and_constant_ones_go():
    after = pruned(CARRIED)
    loop = loop_of(after)
    assert len(loop.results) == 1
    assert "iadd" not in names(after)
    (add,) = [op for op in walk(after.body) if op.name == "fadd"]
    assert add.operands == (loop.regions[0].args[1], after.params[6])


def test_dropping_dead_code_leaves_carried_values_alone():
    assert len(loop_of(dropped(CARRIED)).results) == 3


def test_a_value_that_another_carried_one_reads_stays():
    after = pruned(
        """
        %i: i32 = tid [axis=0]
        %1: i32 = const [value=1]
        %r: f32, %u: f32 = for %n, %k, %1, %x, %y (%j: i32, %s: f32, %c: f32) {
          %t: f32 = fadd %s, %c
          %e: f32 = fadd %c, %c
          yield %t, %e
        }
        store %a, %i, %r
        """
    )
    assert len(loop_of(after).results) == 2


def test_values_of_a_while_that_its_condition_reads_stay():
    after = pruned(
        """
        %i: i32 = tid [axis=0]
        %0: i32 = const [value=0]
        %1: i32 = const [value=1]
        %r: i32, %u: f32 = while %0, %x (%j: i32, %s: f32) {
          %c: b1 = icmp %j, %i [pred="slt"]
          yield %c
        } (%q: i32, %t: f32) {
          %e: i32 = iadd %q, %1
          %f: f32 = fadd %t, %y
          yield %e, %f
        }
        """
    )
    loop = loop_of(after)
    assert [v.type.name for v in loop.results] == ["i32"]
    assert "fadd" not in names(after)


def test_every_exit_is_trimmed():
    after = pruned(
        """
        %i: i32 = tid [axis=0]
        %1: i32 = const [value=1]
        %r: f32, %u: i32 = for %n, %k, %1, %x, %n (%j: i32, %s: f32, %c: i32) {
          %e: i32 = iadd %c, %j
          %g: b1 = icmp %j, %i [pred="sgt"]
          if %g () {
            if %p () {
              break %s, %e
            } () {
              continue %y, %e
            }
            unreachable
          } () {
            yield
          }
          %t: f32 = fadd %s, %y
          yield %t, %e
        }
        store %a, %i, %r
        """
    )
    ends = [op for op in walk(after.body) if op.name in ("break", "continue")]
    assert [len(end.operands) for end in ends] == [1, 1]
    assert "iadd" not in names(after)


def test_unchanged_values_are_found_through_inner_loops():
    after = pruned(
        """
        %i: i32 = tid [axis=0]
        %1: i32 = const [value=1]
        %r: f32 = for %n, %k, %1, %x (%j: i32, %s: f32) {
          %t: f32 = for %n, %k, %1, %s (%q: i32, %u: f32) {
            store %a, %i, %u
            yield %u
          }
          yield %t
        }
        store %b, %i, %r
        """
    )
    assert [op.operands[-1] for op in walk(after.body) if op.name == "store"] == [
        after.params[5],
        after.params[5],
    ]
    assert all(not op.results for op in walk(after.body) if op.name == "for")


def test_a_value_that_a_break_changes_stays():
    after = pruned(
        """
        %i: i32 = tid [axis=0]
        %1: i32 = const [value=1]
        %r: f32 = for %n, %k, %1, %x (%j: i32, %s: f32) {
          if %p () {
            break %y
          } () {
            yield
          }
          yield %s
        }
        store %a, %i, %r
        """
    )
    assert len(loop_of(after).results) == 1


@pytest.mark.parametrize("prune", [False, True])
def test_what_is_live_reads_only_what_is_live(prune):
    kernel = kernel_of(CARRIED)
    live = find_live(kernel, prune=prune)
    for op in walk(kernel.body):
        if op in live.ops and not op.regions and op.name not in ("yield", "return"):
            assert set(op.operands) <= live.values


def test_a_kernel_without_dead_code_is_given_back():
    kernel = kernel_of("%i: i32 = tid [axis=0]\nstore %a, %i, %x")
    assert drop_dead(kernel) is kernel
    assert prune_carried(kernel) is kernel
