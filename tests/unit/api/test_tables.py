"""Tables: captured arrays of fixed shape, whose contents may change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import CompileError, LaunchError, TypingError
from heald.driver.verify_issue import Verdict

WEIGHTS = wp.constant(np.array([1.0, 2.0, 4.0], dtype=np.float32))
STEPS = wp.constant(np.arange(6, dtype=np.int32).reshape(2, 3))


class Holder:
    inner = wp.constant(np.array([10, 20], dtype=np.int64))


@wp.func
def step(i: int):
    return STEPS[i % 2, 2]


@wp.kernel
def weigh(out: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for k in range(WEIGHTS.shape[0]):
        total += WEIGHTS[k] * float(k)
    out[i] = total + float(step(i)) + float(Holder.inner[1])


def weighed(device: str) -> list[float]:
    out = wp.zeros(2, dtype=float, device=device)
    wp.launch(weigh, dim=2, inputs=[out], device=device)
    found: list[float] = out.numpy().tolist()
    return found


@pytest.fixture(autouse=True)
def _same_contents():
    yield
    WEIGHTS.assign([1.0, 2.0, 4.0])


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_assigned_contents_count_from_the_next_launch(device: str) -> None:
    for _ in range(3):
        assert weighed(device) == [32.0, 35.0]
    programs = len(weigh.programs())
    WEIGHTS.assign(np.array([5, 0, 1]))
    assert weighed(device) == [24.0, 27.0]
    np.testing.assert_array_equal(WEIGHTS.numpy(), np.array([5, 0, 1], np.float32))
    assert len(weigh.programs()) == programs, "nothing is compiled anew"


def test_recorded_launches_see_them_too() -> None:
    out = wp.zeros(2, dtype=float)
    command = wp.launch(weigh, dim=2, inputs=[out], record_cmd=True)
    WEIGHTS.assign([0.0, 0.0, 0.0])
    command.launch()
    np.testing.assert_array_equal(out.numpy(), [22.0, 25.0])


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    for values in (np.zeros(4), np.zeros((1, 3)), [1.0, 2.0, 3.0j], ["a", "b", "c"]):
        with pytest.raises(LaunchError) as caught:
            WEIGHTS.assign(values)
        assert caught.value.codes == ("H0711",)
    with pytest.raises(LaunchError):
        STEPS.assign(np.zeros((2, 3)))  # floats would be cut
    assert weighed("cpu") == [32.0, 35.0]
    for values in ([1.0, 1e300, 0.0], np.array([1.0, 0.0, 1e300]), [2**53 + 1, 0, 0]):
        with pytest.raises(TypingError) as lost:
            WEIGHTS.assign(values)
        assert lost.value.codes == ("H0712",)
    small = wp.constant(np.array([1, 2], np.uint8))
    for numbers in ([256, 0], [-1, 0], np.array([300, 0]), np.array([-1, 0], np.int8)):
        with pytest.raises(TypingError):
            small.assign(numbers)
    assert small.numpy().tolist() == [1, 2]
    small.assign([255, 7])
    assert small.numpy().tolist() == [255, 7]
    assert weighed("cpu") == [32.0, 35.0]
    for values in (np.zeros(0), np.zeros((1, 1, 1, 1, 1)), np.array(["a"])):
        with pytest.raises(LaunchError):
            wp.constant(values)


def test_they_are_no_arguments() -> None:
    with pytest.raises(LaunchError, match="takes 1 arguments, 2 given"):
        wp.launch(weigh, dim=1, inputs=[wp.zeros(1, dtype=float), WEIGHTS])


@wp.kernel
def pick(k: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for j in range(STEPS.shape[1]):
        total += WEIGHTS[j] * float(STEPS[1, j])
    if k >= 0 and k < STEPS.shape[0]:
        total += float(STEPS[k, 2])
    if i < out.shape[0]:
        out[i] = total


@wp.kernel
def pick_by_thread(out: wp.array(dtype=float)):
    i = wp.tid()
    if i < out.shape[0]:
        out[i] = WEIGHTS[i]


@wp.kernel
def pick_behind(out: wp.array(dtype=float)):
    i = wp.tid()
    if i < out.shape[0]:
        out[i] = WEIGHTS[3]


def test_their_extents_are_known_to_the_prover() -> None:
    """Nothing is asked of them, and nothing is trusted; what is behind their end is wrong."""
    bounds = wp.verify(weigh)["bounds"]
    assert bounds.verdict is Verdict.CONDITIONAL
    assert bounds.demands == ("dim[0] <= out.shape[0]",)
    bounds = wp.verify(pick)["bounds"]
    assert (bounds.verdict, bounds.demands, bounds.contracts) == (Verdict.PROVED, (), ())
    assert wp.verify(pick_by_thread)["bounds"].demands == ("out.shape[0] <= 3",)
    report = wp.verify(pick_behind)
    assert report["bounds"].verdict is Verdict.REFUTED
    assert "outside 'WEIGHTS' of shape 3" in str(report)


def test_no_launch_gives_a_table_another_shape() -> None:
    """Not even where the name is bound to another one before the kernel is compiled."""
    table = wp.constant(np.array([1.0, 2.0], dtype=np.float32))

    @wp.kernel
    def halves(out: wp.array(dtype=float)):
        out[wp.tid()] = table[1]

    assert [name for name, _ in halves.parameters] == ["out", "table"]
    table = wp.constant(np.array([1.0, 2.0, 3.0], dtype=np.float32))
    with pytest.raises(LaunchError) as caught:
        wp.launch(halves, dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert caught.value.codes == ("H0717",)


def test_indices_are_guarded() -> None:
    @wp.kernel
    def beyond(n: int, out: wp.array(dtype=float)):
        out[wp.tid()] = WEIGHTS[n]

    out = wp.zeros(1, dtype=float)
    with pytest.raises(wp.OutOfBoundsError, match="'WEIGHTS' of shape 3"):
        wp.launch(beyond, dim=1, inputs=[3, out])


def test_a_host_call_has_no_tables() -> None:
    with pytest.raises(CompileError, match="captured Table"):
        step(1)


def test_a_stored_kernel_takes_them_as_arguments(tmp_path: Path) -> None:
    wp.save_ir(weigh, tmp_path / "weigh.wir")
    stored = wp.load_ir(tmp_path / "weigh.wir")
    out = wp.zeros(2, dtype=float)
    values = {"WEIGHTS": WEIGHTS, "STEPS": STEPS, "Holder_inner": Holder.inner}
    names = [name for name, _ in stored.parameters]
    assert names[0] == "out"
    tables = [wp.array(values[name].numpy()) for name in names[1:]]
    wp.launch(stored, dim=2, inputs=[out, *tables])
    assert out.numpy().tolist() == weighed("cpu")


def test_other_constants_are_what_they_were() -> None:
    @wp.struct
    class Pair:
        a: float
        b: wp.vec2

    assert wp.constant(3) == 3
    assert wp.constant(Pair) is Pair

    @wp.kernel
    def take(p: wp.constant(Pair), out: wp.array(dtype=float)):
        out[wp.tid()] = p.a + p.b[1]

    pair, out = Pair(), wp.zeros(1, dtype=float)
    pair.a, pair.b = 2.0, wp.vec2(1.0, 5.0)
    wp.launch(take, dim=1, inputs=[pair, out])
    assert out.numpy().tolist() == [7.0]
