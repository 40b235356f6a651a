"""Replays see what goes wrong in a launch, and nothing else; witnesses survive being stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from heald.artifact import Symbol
from heald.diagnostics import LaunchError
from heald.driver.replay import Case, Misbehaviour, arguments_of, freeze, replay
from heald.driver.witness import Witness, load_witness
from heald.interp import ArrayView
from heald.ir import Kernel, check, parse
from heald.ops import TABLE
from heald.proof import Content, Suspect

HEADER = "kernel @k<1>(%a: array<i32,1>, %b: array<f32,1>, %n: i32)"
START = """
  %t: i32 = tid [axis=0]
  %zero: i32 = const [value=0]
  %one: i32 = const [value=1]
"""


ATOMIC = "%v: i32 = atomic_add %a, %zero, %one\n"


def kernel_of(body: str, header: str = HEADER) -> Kernel:
    kernel = parse(f"{header} {{\n{START}{body}\nreturn\n}}", TABLE)
    check(kernel, TABLE)
    return kernel


def case(
    dim: int, a: int = 0, b: int = 0, n: int = 0, contents: Sequence[Content] = (), fill: int = 0
) -> Case:
    numbers = ((Symbol("shape", 0), a), (Symbol("shape", 1), b), (Symbol("value", 2), n))
    return Case(Suspect((dim,), numbers, tuple(contents), ((0,), (dim - 1,))), fill)


def seen(body: str, c: Case) -> dict[str, list[Misbehaviour]]:
    found: dict[str, list[Misbehaviour]] = {}
    for misbehaviour in replay(kernel_of(body), c):
        found.setdefault(misbehaviour.aspect, []).append(misbehaviour)
    return found


def test_faults_are_seen_with_thread_index_and_shape() -> None:
    found = seen("store %a, %t, %t", case(3, a=2))
    (fault,) = found["bounds"]
    assert (fault.threads, fault.index, fault.shape) == (((2,),), (2,), (2,))
    assert set(found) == {"bounds"}
    assert set(seen("%q: i32 = idiv %t, %n", case(1, n=0))) == {"division"}
    step = "for %zero, %one, %n (%i: i32) { yield }"
    assert set(seen(step, case(1, n=0))) == {"division"}
    wrong = '%c: b1 = icmp %t, %n [pred="slt"]\nassert %c [message="small"]'
    assert set(seen(wrong, case(2, n=1))) == {"assertions"}
    assert seen("store %a, %t, %t", case(3, a=3)) == {}


def test_contents_are_there_when_the_launch_begins() -> None:
    body = "%i: i32 = load %a, %zero\nstore %b, %i, %x"
    body = "%x: f32 = const [value=0x1p+0]\n" + body
    c = case(1, a=1, b=3, contents=[Content(0, 0, (0,), 0, 7)])
    (fault,) = seen(body, c)["bounds"]
    assert fault.index == (7,)
    assert seen(body, case(1, a=1, b=3)) == {}


@pytest.mark.parametrize(
    ("body", "racing"),
    [
        ("store %a, %t, %t", False),
        ("store %a, %zero, %t", True),
        ("store %a, %zero, %one", False),
        ("%v: i32 = load %a, %zero\nstore %a, %t, %v", True),
        ("%v: i32 = load %a, %zero", False),
        ("%v: i32 = atomic_add %a, %zero, %one", False),
        (ATOMIC + "%w: i32 = load %a, %zero\nstore %a, %one, %w", True),
        ("%v: i32 = atomic_add %a, %zero, %one\nstore %a, %zero, %one", True),
    ],
)
def test_a_race_is_two_threads_at_one_number_one_of_them_writing(body: str, racing: bool) -> None:
    found = seen(body, case(2, a=2))
    assert ("races" in found) is racing
    if racing:
        race = found["races"][0]
        assert set(race.threads) == {(0,), (1,)}
        assert race.parameter == 0


def test_components_that_are_not_used_are_not_read() -> None:
    header = "kernel @k<1>(%a: array<vec<f32,2>,1>, %b: array<f32,1>, %n: i32)"
    body = """
      %v: vec<f32,2> = load %a, %zero
      %y: f32 = extract %v [leaf=LEAF]
      store %a, %t, %y [leaf=0]
    """
    for leaf, racing in (("1", False), ("0", True)):
        found = replay(kernel_of(body.replace("LEAF", leaf), header), case(2, a=2))
        assert any(m.aspect == "races" for m in found) is racing


def test_an_access_at_an_index_that_wrapped_is_seen_with_the_exact_result() -> None:
    body = "%p: i32 = imul %n, %n\n%v: i32 = load %a, %p"
    found = seen(body, case(1, a=1, n=65_536))
    (wrap,) = found["overflow"]
    assert (wrap.exact, wrap.wrapped) == (str(2**32), "0")
    assert seen(body, case(1, a=1, n=0)) == {}


@pytest.mark.parametrize(
    ("rest", "wrong"),
    [
        ("%i: i32 = isub %p, %p", False),
        ("%i: i32 = select %yes, %zero, %p", False),
        ("%i: i32 = select %yes, %p, %zero", True),
        ("%i: i32 = iand %p, %zero", False),
        ("%i: i32 = ashr %p, %bits", True),
        ("%w: i64 = sext %p\n%i: i32 = trunc %w", False),
        ("%i: i32 = for %zero, %one, %one, %zero (%k: i32, %c: i32) { yield %p }", True),
    ],
)
def test_only_indices_that_are_not_the_exact_ones_are_wrong(rest: str, wrong: bool) -> None:
    more = "%yes: b1 = const [value=true]\n%bits: i32 = const [value=31]\n%p: i32 = imul %n, %n\n"
    found = seen(f"{more}{rest}\n%v: i32 = load %a, %i", case(1, a=1, n=65_536))
    assert ("overflow" in found) is wrong


def test_launches_with_large_arrays_touch_only_what_they_need() -> None:
    body = "%i: i32 = iadd %n, %t\nstore %a, %i, %t"
    size = 2**31 - 1
    assert seen(body, case(1, a=size, n=size - 1)) == {}
    (fault,) = seen(body, case(2, a=size, n=size - 1))["bounds"]
    assert fault.index == (size,)


def test_loops_without_end_are_given_up() -> None:
    body = """
      while () { %c: b1 = const [value=true]
        yield %c } () { yield }
      store %a, %zero, %t
    """
    assert seen(body, case(1, a=0)) == {}


def test_witnesses_are_the_same_after_being_stored(tmp_path) -> None:
    body = """
      %x: f32 = load %b, %t
      %zf: f32 = const [value=0x0p+0]
      %c: b1 = fcmp %x, %zf [pred="ogt"]
      if %c () { store %a, %n, %t
        yield } () { yield }
    """
    kernel = kernel_of(body)
    c = case(4, a=1, b=4, n=3, fill=5)
    found = replay(kernel, c)
    assert found
    witness = Witness.of(kernel, c, found[0])
    assert witness.case.fill == 0
    witness.save(tmp_path / "case.npz")
    again = load_witness(tmp_path / "case.npz")
    assert again.replay() == found
    assert again.seen == found[0]
    assert (again.dims, again.numbers()) == (witness.dims, witness.numbers())
    memory = [arguments_of(w.kernel, w.case)[1] for w in (witness, again)]
    assert all(isinstance(view, ArrayView) for view in memory)
    np.testing.assert_array_equal(memory[0].leaf(), memory[1].leaf())


def test_large_arrays_are_not_written_down(tmp_path) -> None:
    body = "%x: i32 = load %a, %one\nstore %b, %x, %f"
    kernel = kernel_of("%f: f32 = const [value=0x1p+0]\n" + body)
    large = case(1, a=1 << 31, b=2, contents=[Content(0, 0, (1,), 0, 7)], fill=3)
    kept = freeze(kernel, large)
    assert [place for place, _ in kept.memory] == [(1, 0)]
    (fault,) = replay(kernel, kept)
    assert (fault.aspect, fault.index) == ("bounds", (7,))
    Witness.of(kernel, large, fault).save(tmp_path / "case.npz")
    assert load_witness(tmp_path / "case.npz").replay() == [fault]


def test_freezing_a_case_without_random_numbers_changes_nothing() -> None:
    c = case(2, a=2)
    assert freeze(kernel_of("store %a, %t, %t"), c) is c


@pytest.mark.parametrize(
    "content",
    [b"", b"no zip", b"PK\x03\x04 broken"],
)
def test_files_that_are_no_witness_are_refused(tmp_path, content: bytes) -> None:
    path = tmp_path / "case.npz"
    path.write_bytes(content)
    with pytest.raises(LaunchError, match="is no witness"):
        load_witness(path)


def test_other_archives_are_refused(tmp_path) -> None:
    path = tmp_path / "case.npz"
    np.savez(path, a=np.zeros(3))
    with pytest.raises(LaunchError, match="it has no kernel"):
        load_witness(path)
    np.savez(path, kernel=np.zeros(3, np.uint8), case=np.frombuffer(b'{"version": 1}', np.uint8))
    with pytest.raises(LaunchError, match="is no witness"):
        load_witness(path)
    np.savez(path, kernel=np.zeros(3, np.uint8), case=np.frombuffer(b'{"version": 9}', np.uint8))
    with pytest.raises(LaunchError, match="version 9"):
        load_witness(path)
    np.savez(path, kernel=np.array([object()], dtype=object), case=np.zeros(1))
    with pytest.raises(LaunchError, match="is no witness"):
        load_witness(path)
