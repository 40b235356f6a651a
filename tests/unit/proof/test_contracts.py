"""Contracts: what may be concluded from them, and kernels made to conclude too much."""

from __future__ import annotations

import pytest

import heald as wp
from heald.driver.verify import Question, verify_program
from heald.driver.verify_issue import Verdict
from heald.driver.verify_report import Report
from heald.proof import Request, prove
from heald.proof.contracts import NOTHING
from heald.proof.prove import CONTRADICTORY_CONTRACTS

INDEX = wp.array(dtype=int, shape=("n",), elem=wp.index("m"))
RISING = wp.array(dtype=int, shape=("n",), elem=wp.index("m"), monotone=True)
DIFFERENT = wp.array(dtype=int, shape=("n",), elem=wp.index("m"), injective=True)
DATA = wp.array(dtype=float, shape=("m",))
ROWS = wp.array(dtype=float, shape=("n",))


def judge(kernel: wp.Kernel, given: str = "") -> Report:
    return wp.verify(kernel, given=given or ())


def verdict(kernel: wp.Kernel, name: str, given: str = "") -> Verdict:
    return judge(kernel, given)[name].verdict


@wp.kernel
def gather(idx: INDEX, a: DATA, b: ROWS):
    i = wp.tid()
    b[i] = a[idx[i]]


def test_what_needs_a_contract_says_so_in_every_format() -> None:
    report = judge(gather, "dim == b.shape")
    assert report.verdict is Verdict.CONTRACTS
    assert report["division"].verdict is Verdict.PROVED
    assert report.contracts == ("b.shape[0] == n", "idx: elem=wp.index('m')")
    assert report["bounds"].contracts == report.contracts
    assert "under b.shape[0] == n, idx: elem=wp.index('m')" in str(report)
    data = report.to_json()
    assert data["verdict"] == "proved under stated contracts"
    assert data["contracts"] == list(report.contracts)
    (result,) = report.to_sarif()["runs"][0]["results"]
    assert (result["kind"], result["level"]) == ("informational", "none")


def test_a_launch_must_keep_arrays_apart_on_which_contracts_speak() -> None:
    report = judge(gather, "dim == b.shape")
    assert "b and idx, a do not overlap" in report["bounds"].condition
    assert report.proof.properties["aliasing"].apart is not None
    assert not report.proof.properties["aliasing"].apart.merged


@wp.kernel
def too_far(idx: INDEX, a: DATA, b: ROWS):
    i = wp.tid()
    b[i] = a[idx[i] + 1]


def test_a_witness_keeps_the_contracts() -> None:
    report = judge(too_far, "dim == b.shape")
    (issue,) = [x for x in report.issues if x.aspect == "bounds"]
    assert issue.verdict is Verdict.REFUTED
    arguments = dict(issue.witness.case.memory)
    assert (0, 0) in arguments
    assert "is outside 'a'" in issue.message


@wp.kernel
def overwritten(idx: INDEX, a: DATA, b: ROWS):
    i = wp.tid()
    idx[i] = a.shape[0]
    b[i] = a[idx[i]]


@wp.kernel
def kept(idx: INDEX, a: DATA, b: ROWS):
    i = wp.tid()
    idx[i] = 0
    b[i] = a[idx[i]]


def test_contents_that_the_kernel_writes_are_not_trusted() -> None:
    assert verdict(overwritten, "bounds", "dim == b.shape") is Verdict.REFUTED
    assert not verdict(kept, "bounds", "dim == b.shape").is_proof
    assert verdict(overwritten, "contracts", "dim == b.shape") is Verdict.REFUTED
    assert verdict(kept, "contracts", "dim == b.shape and a.shape[0] >= 1").is_proof


@wp.kernel
def through_a_view(idx: INDEX, a: DATA):
    i = wp.tid()
    rest = idx[1:]
    rest[i] = a.shape[0]


@wp.kernel
def wrapped(idx: INDEX, a: DATA, f: int):
    i = wp.tid()
    x = f * f
    if x >= 0:
        idx[i] = wp.min(x, a.shape[0])


@wp.kernel
def counted(idx: INDEX, a: DATA):
    wp.atomic_sub(idx, wp.tid(), 1)


@pytest.mark.parametrize("kernel", [through_a_view, wrapped, counted], ids=lambda k: k.key)
def test_every_way_to_change_an_array_owes_its_contract(kernel: wp.Kernel) -> None:
    given = "dim[0] + 1 == idx.shape[0] and a.shape[0] >= 1"
    assert verdict(kernel, "contracts", given) is Verdict.REFUTED


@wp.kernel
def sorted_again(rising: RISING, a: DATA):
    i = wp.tid()
    rising[i] = 0


def test_order_is_not_kept_by_stores() -> None:
    given = "dim == rising.shape and a.shape[0] >= 1"
    assert not verdict(sorted_again, "contracts", given).is_proof


# -- order and difference --------------------------------------------------------------------------


@wp.kernel
def falls(rising: RISING, a: DATA):
    i = wp.tid()
    if i + 1 < rising.shape[0]:
        assert rising[i] >= rising[i + 1]


@wp.kernel
def rises(rising: RISING, a: DATA):
    i = wp.tid()
    if i + 1 < rising.shape[0]:
        assert rising[i] <= rising[i + 1]


@wp.kernel
def rises_strictly(rising: RISING, a: DATA):
    i = wp.tid()
    if i + 1 < rising.shape[0]:
        assert rising[i] < rising[i + 1]


def test_monotone_is_not_strictly_and_not_falling() -> None:
    given = "dim == rising.shape"
    assert verdict(rises, "assertions", given) is Verdict.CONTRACTS
    assert verdict(falls, "assertions", given) is Verdict.REFUTED
    assert verdict(rises_strictly, "assertions", given) is Verdict.REFUTED


@wp.kernel
def differ(to: DIFFERENT, a: DATA, j: int):
    i = wp.tid()
    if i != j:
        assert to[i] != to[j]


@wp.kernel
def differ_always(to: DIFFERENT, a: DATA, j: int):
    i = wp.tid()
    assert to[i] != to[j]


def test_injective_speaks_of_different_indices() -> None:
    given = "dim == to.shape and j >= 0 and j < to.shape[0]"
    assert verdict(differ, "assertions", given) is Verdict.CONTRACTS
    assert verdict(differ_always, "assertions", given) is Verdict.REFUTED


@wp.kernel
def ranked(to: wp.array(dtype=wp.int8, injective=True), out: wp.array(dtype=int)):
    i = wp.tid()
    if i < to.shape[0] and int(to[i]) >= 0:
        out[int(to[i]) // 2] = i


def test_different_numbers_may_meet_after_arithmetic() -> None:
    assert verdict(ranked, "races", "out.shape[0] == 64") is Verdict.REFUTED


# -- conditions in the body ------------------------------------------------------------------------


@wp.kernel
def ensured(a: DATA):
    i = wp.tid()
    wp.ensures(i < a.shape[0])
    a[i] = 0.0


def test_what_is_ensured_proves_nothing() -> None:
    report = judge(ensured, "dim[0] >= 1")
    assert report["bounds"].verdict is Verdict.REFUTED
    assert report["contracts"].verdict is Verdict.REFUTED


@wp.kernel
def required(a: DATA, flag: int):
    i = wp.tid()
    if flag > 0:
        wp.requires(i < a.shape[0])
    a[i] = 0.0


def test_a_promise_holds_where_it_stands_only() -> None:
    assert not verdict(required, "bounds", "dim[0] >= 1").is_proof


@wp.kernel
def late(a: DATA):
    i = wp.tid()
    a[i] = 0.0
    wp.assume(i < a.shape[0])


def test_a_promise_comes_before_what_it_proves() -> None:
    assert not verdict(late, "bounds", "dim[0] >= 1").is_proof


@wp.kernel
def wrong_at_first(a: DATA, n: int):
    k = -1
    while k < n:
        wp.invariant(k >= 0)
        if k < a.shape[0]:
            a[k] = 0.0
        k += 1


@wp.kernel
def wrong_later(a: DATA, n: int):
    k = 0
    while k < n:
        wp.invariant(k <= 1)
        if k < 2:
            a[k] = 0.0
        k += 2


@wp.kernel
def helpful(a: DATA, n: int):
    j = 0
    k = 0
    while k < n:
        wp.invariant(2 * j >= k and j <= k and k >= 0)
        if 2 * j - k < a.shape[0]:
            a[2 * j - k] = 0.0
        if k % 3 == 0:
            j += 2
            k += 3
        else:
            j += 1
            k += 1


def test_an_invariant_is_shown_before_it_is_used() -> None:
    assert verdict(wrong_at_first, "bounds", "dim == 1 and n == 3") is Verdict.REFUTED
    assert verdict(wrong_at_first, "contracts", "dim == 1 and n == 3") is Verdict.REFUTED
    assert not verdict(wrong_later, "contracts", "dim == 1 and n == 3").is_proof
    report = judge(helpful, "dim == 1 and n >= 0 and n <= 1000")
    assert report["contracts"].verdict is Verdict.PROVED
    assert report["bounds"].verdict is Verdict.PROVED


# -- contracts that cannot be kept -----------------------------------------------------------------


@wp.kernel
def nothing_between(a: wp.array(dtype=int, elem=wp.within("n", "n - 1")), n: int):
    i = wp.tid()
    a[a[i]] = 0


@wp.kernel
def never(a: DATA, n: int):
    i = wp.tid()
    wp.requires(n > 3)
    wp.requires(n < 2)
    a[i + 100] = 0.0


@wp.kernel
def too_many(to: wp.array(dtype=int, shape=(5,), elem=wp.index(4), injective=True), a: DATA):
    i = wp.tid()
    a[to[i]] = 0.0


@pytest.mark.parametrize("kernel", [nothing_between, never, too_many], ids=lambda k: k.key)
def test_contracts_that_no_launch_keeps_are_an_error(kernel: wp.Kernel) -> None:
    with pytest.raises(wp.ProofError) as caught:
        wp.verify(kernel)
    assert caught.value.codes == ("H0607",)
    program = kernel.program(kernel.concrete_types())
    request = Request(program.wir, promises=program.promises or NOTHING)
    proof = prove(request)
    assert proof.beyond is not None
    assert proof.beyond[0] == CONTRADICTORY_CONTRACTS
    assert all(p.status == "open" for p in proof.properties.values())


def test_given_facts_must_not_contradict_the_contracts() -> None:
    with pytest.raises(wp.ProofError):
        wp.verify(gather, given="b.shape[0] == 3 and idx.shape[0] == 4")


# -- launches --------------------------------------------------------------------------------------


@wp.kernel(safety="strict")
def strict_gather(idx: INDEX, a: DATA, b: ROWS):
    i = wp.tid()
    b[i] = a[idx[i]]


@wp.kernel(safety="strict")
def strict_shapes(a: ROWS, b: ROWS):
    i = wp.tid()
    if i < a.shape[0]:
        b[i] = a[i]


def test_strict_launches_need_contracts_that_are_checked(monkeypatch) -> None:
    idx, a, b = wp.array([1, 0], dtype=int), wp.zeros(2), wp.zeros(2)
    with pytest.raises(wp.ProofError, match="rests on contracts that are not checked"):
        wp.launch(strict_gather, dim=2, inputs=[idx, a, b])
    monkeypatch.setattr(wp.config, "check_contracts", True)
    wp.launch(strict_gather, dim=2, inputs=[idx, a, b])
    with pytest.raises(wp.LaunchError, match="idx"):
        wp.launch(strict_gather, dim=2, inputs=[wp.array([1, 2], dtype=int), a, b])


def test_strict_launches_may_rest_on_shapes() -> None:
    wp.launch(strict_shapes, dim=9, inputs=[wp.zeros(2), wp.zeros(2)])
    with pytest.raises(wp.LaunchError) as caught:
        wp.launch(strict_shapes, dim=9, inputs=[wp.zeros(2), wp.zeros(3)])
    assert caught.value.codes == ("H0717",)


def test_contracts_on_contents_remove_no_guard() -> None:
    idx, a, b = wp.array([1, 7], dtype=int), wp.zeros(2), wp.zeros(2)
    with pytest.raises(wp.OutOfBoundsError):
        wp.launch(gather, dim=2, inputs=[idx, a, b])


def test_strict_is_asked_with_the_contracts_it_has() -> None:
    program = gather.program(gather.concrete_types())
    question = Question(program.wir, "gather", promises=NOTHING)
    assert not verify_program(question).proved
