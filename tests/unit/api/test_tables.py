"""Tables: captured arrays of fixed shape, whose contents may change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def first_of(kernel: wp.Kernel, dtype: Any) -> Any:
    out = wp.zeros(1, dtype=dtype)
    wp.launch(kernel, dim=1, inputs=[out])
    return out.list()[0]


def test_a_specialisation_has_the_tables_that_it_captured() -> None:
    """As it has the values of plain names: those of when it was compiled, until it is again."""
    pair = table = wp.constant(np.array([1.0, 2.0], dtype=np.float32))
    base = 10

    @wp.kernel
    def last(out: wp.array(dtype=Any)):
        out[wp.tid()] = out.dtype(table[table.shape[0] - 1]) + out.dtype(base)

    assert [name for name, _ in last.parameters] == ["out"]
    for _ in range(3):
        assert first_of(last, wp.float32) == 12.0
    three = table = wp.constant(np.array([7, 8, 9], dtype=np.int8))
    base = 20
    for _ in range(3):
        assert first_of(last, wp.int32) == 29
        assert first_of(last, wp.float32) == 12.0, "compiled before"
    command = wp.launch(last, 1, [out := wp.zeros(1, dtype=wp.int32)], record_cmd=True)
    table = wp.constant(np.array([1], dtype=np.int64))
    three.assign([7, 8, 6])
    pair.assign([1.0, 0.0])
    assert first_of(last, wp.int32) == 26
    assert first_of(last, wp.float32) == 10.0
    command.launch()
    assert out.list() == [26]
    last.invalidate()
    for _ in range(3):
        assert first_of(last, wp.int32) == 21
        assert first_of(last, wp.float32) == 21.0
    command.launch()
    assert out.list() == [21]


def test_debugging_tells_of_another_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wp.config, "debug", True)
    table = wp.constant(np.array([1.0]))

    @wp.kernel
    def read(out: wp.array(dtype=wp.float64)):
        out[wp.tid()] = table[0]

    for value, is_told in ((2.0, False), (3.0, True)):
        assert [first_of(read, wp.float64) for _ in range(2)] == [1.0, 1.0]
        told = "captures has changed since it was compiled" in capsys.readouterr().err
        assert told == is_told
        table = wp.constant(np.array([value]))


def test_a_name_may_mean_a_table_now_and_a_number_then() -> None:
    one, two = wp.constant(np.array([5, 6])), wp.constant(np.array([7]))
    first: Any = one
    second: Any = one

    @wp.func
    def of_second(k: int):
        return wp.static(second if isinstance(second, int) else 0)

    @wp.kernel
    def mixed(out: wp.array(dtype=Any)):
        total = int(out.shape[0])
        if wp.static(not isinstance(first, int)):
            total += int(first[0])
        if wp.static(not isinstance(second, int)):
            total += int(second[0])
        out[wp.tid()] = out.dtype(total + of_second(0))

    found = []
    for dtype, first, second in (  # noqa: B007 - the kernel captures them
        (wp.int32, one, one),
        (wp.int64, one, two),
        (wp.float32, 3, two),
        (wp.float64, 3, 40),
        (wp.int16, two, one),
    ):
        found.append(first_of(mixed, dtype))
    assert found == [11, 13, 8, 41, 13]
    first = second = 0
    for _ in range(2):
        assert [first_of(mixed, t) for t in (wp.int32, wp.int64, wp.float32)] == found[:3]
    assert [len(program.tables) for program in mixed.programs()] == [1, 2, 1, 0, 2]


def test_types_are_given_for_arguments_only() -> None:
    @wp.kernel
    def spread(out: wp.array(dtype=Any)):
        out[wp.tid()] = out.dtype(STEPS[0, 1])

    spread.prepare(wp.array(dtype=wp.float64))
    assert first_of(spread, wp.float64) == 1.0
    assert len(spread.programs()) == 1
    command = wp.launch(spread, 1, [wp.zeros(1, dtype=wp.float64)], record_cmd=True)
    with pytest.raises(LaunchError) as caught:
        command.set_param_by_name("STEPS", wp.zeros((2, 3), dtype=wp.int32))
    assert caught.value.codes == ("H0715",)
    report = wp.verify(spread, dim=1, args=[wp.zeros(1, dtype=wp.float64)])
    assert report["bounds"].verdict is Verdict.PROVED


def test_a_huge_table_makes_indices_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    @wp.kernel
    def extent(out: wp.array(dtype=wp.int64)):
        out[wp.tid()] = wp.int64(WEIGHTS.shape[0])

    monkeypatch.setattr(WEIGHTS, "shape", (1 << 31,))
    assert extent.program(extent.concrete_types()).has_wide_index


def test_a_table_is_called_by_its_name_however_it_is_read() -> None:
    @wp.kernel
    def count(out: wp.array(dtype=int)):
        out[wp.tid()] = WEIGHTS.shape[0] + Holder.inner.shape[0]

    program = count.program(count.concrete_types())
    assert [name for name, _ in program.tables] == ["Holder_inner", "WEIGHTS"]
    assert "WEIGHTS_shape" not in str(wp.verify(count))
    assert [program.wir.name_of(p) for p in program.wir.params] == [
        "out",
        "Holder_inner",
        "WEIGHTS",
    ]


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
