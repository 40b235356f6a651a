"""Ids and guards."""

import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of

from heald.diagnostics import InternalError
from heald.ir import Kernel, check, op_ids, walk
from heald.ops import TABLE
from heald.passes import Verdict, guard

TEXT = """
    %i: i32 = tid [axis=0]
    %v: f32 = load %a, %i
    %q: i32 = idiv %n, %k
    for %n, %k, %q (%j: i32) {
      %t: array<f32,1> = subview %m2, %j [axes="if"]
      store %t, %j, %v
      %o: i32 = atomic_add %m, %i, %j, %n
      yield
    }
    assert %p [message="p"]
    printf %v [text="{}", kinds="f"]
    """.replace("%m2", "%f")

KERNEL = f"""kernel @k<1>(%a: array<f32,1>, %f: array<f32,2>, %m: array<i32,2>, %n: i32, %k: i32,
    %p: b1) {{ {TEXT} return }}"""


def guards(kernel: Kernel) -> dict[str, object]:
    return {op.name: op.attrs.get("guard") for op in walk(kernel.body) if "id" in op.attrs}


def test_every_obligation_gets_its_pre_order_number_and_a_guard():
    kernel = kernel_of(KERNEL)
    after = guard(kernel)
    check(after, TABLE)
    assert guards(after) == {
        "load": True,
        "idiv": True,
        "for": True,
        "subview": True,
        "store": True,
        "atomic_add": True,
        "assert": True,
        "printf": None,
    }
    numbers = [op.attrs["id"] for op in walk(after.body) if "id" in op.attrs]
    before = op_ids(kernel)
    expected = [n for op, n in before.items() if op.name in {*guards(after)}]
    assert numbers == expected == [1, 2, 3, 4, 5, 6, 8, 9]


def test_guarding_changes_nothing_that_can_be_seen():
    kernel = kernel_of(KERNEL)
    assert_same(kernel, guard(kernel), launches_of(kernel, 3), same_faults=True)


def test_proofs_remove_guards():
    kernel = kernel_of(KERNEL)
    proofs = {1: Verdict.PROVED, 2: Verdict.CONDITIONAL, 3: Verdict.OPEN, 5: Verdict.PROVED}
    after = guard(kernel, proofs=proofs)
    assert guards(after) | {"load": False, "store": False} == guards(after)
    assert guards(after)["idiv"] is guards(after)["for"] is guards(after)["subview"] is True
    under = guard(kernel, proofs=proofs, bounds=True)
    assert [n for n, g in guards(under).items() if g is False] == ["load", "idiv", "store"]


def test_unchecked_leaves_out_the_guards_of_arrays_only():
    after = guard(kernel_of(KERNEL), safety="unchecked")
    assert [n for n, g in guards(after).items() if g is False] == [
        "load", "subview", "store", "atomic_add"
    ]  # fmt: skip
    assert [n for n, g in guards(after).items() if g is True] == ["idiv", "for", "assert"]


def test_a_second_guard_keeps_ids_and_decides_again():
    once = guard(kernel_of(KERNEL), proofs={1: Verdict.PROVED})
    twice = guard(once)
    assert guards(twice)["load"] is True
    assert [op.attrs.get("id") for op in walk(once.body)] == [
        op.attrs.get("id") for op in walk(twice.body)
    ]


def test_other_attributes_stay():
    kernel = kernel_of(
        '%i: i32 = tid [axis=0]\n%v: array<i32,1> = subview %m, %i [axes="if"]\nstore %v, %i, %n'
    )
    (view,) = [op for op in walk(guard(kernel).body) if op.name == "subview"]
    assert view.attrs["axes"] == "if"


def test_an_unknown_mode_is_refused():
    with pytest.raises(InternalError, match="safety is one of auto"):
        guard(kernel_of(KERNEL), safety="sometimes")
