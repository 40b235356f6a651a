"""The helper that all passes share."""

from unit.passes.launches import kernel_of

from heald.diagnostics import Span
from heald.ir import Kernel, Op, check, equal, walk
from heald.ops import TABLE
from heald.passes.rebuild import Rebuild

TEXT = """
%i: i32 = tid [axis=0]
%v: f32 = if %p () {
  %w: f32 = fadd %x, %y
  yield %w
} () {
  yield %x
}
store %a, %i, %v
"""


def test_copying_everything_gives_the_same_kernel_back():
    kernel = kernel_of(TEXT)
    assert Rebuild(kernel).rebuilt() is kernel


def test_a_changed_operand_remakes_only_what_reads_it():
    kernel = kernel_of(TEXT)
    rebuild = Rebuild(kernel)
    x, y = kernel.params[5:7]
    rebuild.put(y, x)
    after = rebuild.rebuilt()
    check(after, TABLE)
    before, found = list(walk(kernel.body)), list(walk(after.body))
    changed = [k for k, (a, b) in enumerate(zip(before, found, strict=True)) if a is not b]
    assert [before[k].name for k in changed] == ["if", "fadd"]
    assert found[2].operands == (x, x)
    assert found[2].results == before[2].results


def twice(kernel: Kernel) -> Kernel:
    rebuild = Rebuild(kernel)

    def visit(op: Op) -> None:
        rebuild.copy(op)
        if op.name == "if":
            rebuild.copy(op)

    return rebuild.rebuilt(visit)


def test_a_second_copy_has_fresh_results_with_the_same_names_and_spans():
    kernel = kernel_of(TEXT)
    span = Span("k.py", 1, 0, 1, 4)
    ops = tuple(
        Op(o.name, o.operands, o.results, o.attrs, o.regions, span) for o in kernel.body.ops
    )
    kernel = Kernel(kernel.name, kernel.params, type(kernel.body)((), ops), (), 1, kernel.names)
    after = twice(kernel)
    check(after, TABLE)
    first, second = (op for op in after.body.ops if op.name == "if")
    assert first.results != second.results
    assert after.name_of(first.results[0]) == after.name_of(second.results[0]) == "v"
    inner = second.regions[0].ops[0]
    assert inner.results != first.regions[0].ops[0].results
    assert after.name_of(inner.result) == "w"
    assert second.regions[0].terminator.operands == inner.results
    assert second.span is span
    store = after.body.ops[-2]
    assert store.operands[-1] is second.results[0]


def test_a_hook_can_end_a_region():
    kernel = kernel_of(TEXT)
    rebuild = Rebuild(kernel)

    def visit(op: Op) -> bool:
        if op.name != "if":
            rebuild.copy(op)
            return False
        rebuild.emit("return")
        return True

    after = rebuild.rebuilt(visit)
    assert [op.name for op in after.body.ops] == ["tid", "return"]


def test_a_value_without_a_name_takes_the_one_it_replaces_and_keeps_its_own():
    kernel = kernel_of(TEXT)
    rebuild = Rebuild(kernel)
    i, x = kernel.body.ops[0].result, kernel.params[5]
    rebuild.open()
    nameless = rebuild.const(i.type, 0)
    rebuild.put(i, nameless)
    assert rebuild.name_of(nameless) == "i"
    rebuild.put(kernel.params[6], x)
    assert rebuild.name_of(x) == "x"
    assert rebuild.give_name(nameless, "other") is nameless
    assert rebuild.name_of(nameless) == "i"


def test_finish_changes_what_it_is_told():
    kernel = kernel_of(TEXT)
    rebuild = Rebuild(kernel)
    after = rebuild.finish(rebuild.region(kernel.body), attrs={"width": 8})
    assert after.attrs == {"width": 8}
    assert not equal(after, kernel)
