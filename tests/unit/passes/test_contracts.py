"""Conditions of contracts: assertions where they are checked, nothing where they are not."""

import pytest
from unit.passes.launches import kernel_of

from heald.diagnostics import CompileError
from heald.ir import check, op_ids, walk
from heald.ops import TABLE
from heald.passes import guard
from heald.passes.contracts import assert_roles, settle_contracts

KERNEL = """kernel @k<1>(%a: array<i32,1>, %b: array<i32,1>, %n: i32) {
    %i: i32 = tid [axis=0]
    %x: i32 = load %b, %i
    %inside: b1 = icmp %x, %n [pred="slt"]
    assume %inside [message="wp.requires(b[i] < n)", role="requires"]
    %zero: i32 = const [value=0]
    %positive: b1 = icmp %i, %zero [pred="sge"]
    assume %positive [message="wp.ensures(i >= 0)", role="ensures"]
    store %a, %i, %i
    return
}"""


def names(kernel) -> list[str]:
    return [op.name for op in walk(kernel.body)]


def test_unchecked_contracts_leave_no_code_behind():
    kernel = settle_contracts(guard(kernel_of(KERNEL)), check=False)
    check(kernel, TABLE)
    assert names(kernel) == ["tid", "store", "return"]


def test_checked_contracts_are_assertions_and_ids_stay():
    before = guard(kernel_of(KERNEL))
    after = settle_contracts(before, check=True)
    check(after, TABLE)
    asserts = [op for op in walk(after.body) if op.name == "assert"]
    assert [op.attrs["message"] for op in asserts] == [
        "wp.requires(b[i] < n)",
        "wp.ensures(i >= 0)",
    ]
    assert all(op.attrs["guard"] for op in asserts)
    assert list(op_ids(before).values()) == list(op_ids(after).values())


def test_a_kernel_without_contracts_is_left_alone():
    kernel = guard(kernel_of(KERNEL.replace("assume", "assert")))
    assert settle_contracts(kernel, check=True) is kernel
    assert settle_contracts(kernel, check=False) is kernel


@pytest.mark.parametrize("role", ["requires", "ensures"])
def test_some_roles_can_be_chosen(role):
    chosen = assert_roles(kernel_of(KERNEL), frozenset({role}))
    found = [op.attrs["message"] for op in walk(chosen.body) if op.name == "assert"]
    assert [text.partition("(")[0] for text in found] == [f"wp.{role}"]


def test_an_unknown_role_is_refused():
    with pytest.raises(CompileError, match="role"):
        check(kernel_of(KERNEL.replace('"ensures"', '"hopes"')), TABLE)


def test_an_index_that_only_contracts_read_is_no_launch_index():
    text = KERNEL.replace("    store %a, %i, %i\n", "")
    kernel = settle_contracts(guard(kernel_of(text)), check=False)
    check(kernel, TABLE)
    assert (names(kernel), kernel.rank) == (["return"], 0)
    assert settle_contracts(guard(kernel_of(text)), check=True).rank == 1
    assert settle_contracts(guard(kernel_of(KERNEL)), check=False).rank == 1
