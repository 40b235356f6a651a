"""Programs: variants, faults, prints, debugging output, index widths."""

import io
import sys

import numpy as np
import pytest

import heald as wp
from heald.driver.choice import Choice
from heald.ir import OBLIGATIONS, walk


@pytest.fixture(params=["cpu", "sim"])
def device(request):
    return request.param


@wp.kernel
def add_one(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + 1.0


@wp.kernel
def shift(a: wp.array(dtype=float, ndim=2), by: int):
    i, j = wp.tid()
    a[i, j + by] = 7.0


@wp.kernel
def divide(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    a[i] = a[i] // b[i]


@wp.kernel
def strides(a: wp.array(dtype=int), step: int):
    n = 0
    for _k in range(0, 10, step):
        n += 1
    a[wp.tid()] = n


@wp.kernel
def positive(a: wp.array(dtype=int)):
    i = wp.tid()
    assert a[i] > 0, "only positive numbers"


@wp.kernel
def chatty(a: wp.array(dtype=float), v: wp.vec3):
    i = wp.tid()
    if i % 2 == 0:
        print("even", i, a[i], v)  # noqa: T201 - a kernel's print
    wp.printf("%d: %.3f%%\n", i, a[i])


@wp.kernel
def in_c(x: int, c: int):
    wp.printf("%x %o %u %X %d|%c|%c\n", x, x, wp.int8(x), wp.uint8(x), x, c, x)


def guards(kernel):
    return [op.attrs["guard"] for op in walk(kernel.body) if op.name in OBLIGATIONS]


def test_the_launch_condition_drops_every_guard_of_a_map():
    program = add_one.program(add_one.concrete_types())
    assert program.describe_condition() == "dim[0] <= a.shape[0]"
    assert add_one.launch_condition == "dim[0] <= a.shape[0]"
    assert not any(guards(program.guarded(bounds=True)))
    assert all(guards(program.guarded(bounds=False)))


def test_a_launch_outside_the_condition_is_guarded(device):
    a = wp.zeros(3, device=device)
    wp.launch(add_one, dim=3, inputs=[a], device=device)
    with pytest.raises(wp.OutOfBoundsError) as info:
        wp.launch(add_one, dim=5, inputs=[a], device=device)
    text = str(info.value)
    assert "index 3 outside 'a' of shape 3, in thread 3 of kernel 'add_one'" in text
    assert "2 threads faulted" in text
    assert "test_program.py" in text
    assert a.numpy().tolist() == [2.0, 2.0, 2.0]


def test_a_fault_names_thread_index_and_shape_on_every_axis(device):
    a = wp.zeros((2, 3), device=device)
    with pytest.raises(wp.OutOfBoundsError, match=r"index \(0, 3\) outside 'a' of shape \(2, 3\)"):
        wp.launch(shift, dim=(2, 3), inputs=[a, 1], device=device)
    assert a.numpy().tolist() == [[0, 7, 7], [0, 7, 7]]
    with pytest.raises(wp.OutOfBoundsError, match=r"index \(0, -1\) .* in thread \(0, 0\)"):
        wp.launch(shift, dim=(2, 3), inputs=[a, -1], device=device)


def test_division_by_zero_is_a_fault_and_gives_zero(device):
    a = wp.array([7, 7, -7], dtype=int, device=device)
    b = wp.array([2, 0, 2], dtype=int, device=device)
    with pytest.raises(wp.DivisionFault, match="H0402"):
        wp.launch(divide, dim=3, inputs=[a, b], device=device)
    assert a.list() == [3, 0, -4]


def test_a_step_of_zero_is_a_fault_and_runs_nothing(device):
    a = wp.array([9], dtype=int, device=device)
    with pytest.raises(ZeroDivisionError, match="H0403"):
        wp.launch(strides, dim=1, inputs=[a, 0], device=device)
    assert a.list() == [0]
    wp.launch(strides, dim=1, inputs=[a, 3], device=device)
    assert a.list() == [4]


def test_a_failed_assertion_carries_its_message(device):
    a = wp.array([1, 2, -3, -4], dtype=int, device=device)
    with pytest.raises(AssertionError, match="only positive numbers, in thread 2"):
        wp.launch(positive, dim=4, inputs=[a], device=device)


def test_prints_come_in_thread_order_and_alike(device, capsys):
    a = wp.array([0.1, 1e30, 3.0], dtype=float, device=device)
    wp.launch(chatty, dim=3, inputs=[a, wp.vec3(1.0, 2.0, 0.5)], device=device)
    assert capsys.readouterr().out == (
        "even 0 0.1 [1.0, 2.0, 0.5]\n0: 0.100%\n"
        f"1: {np.float32(1e30):.3f}%\n"
        "even 2 3.0 [1.0, 2.0, 0.5]\n2: 3.000%\n"
    )


def test_unchecked_drops_array_guards_only():
    @wp.kernel(safety="unchecked")
    def quotient(a: wp.array(dtype=int), n: int):
        i = wp.tid()
        a[i + 1] = a[i] // n

    program = quotient.program(quotient.concrete_types())
    kept = {
        op.name: op.attrs["guard"]
        for op in walk(program.guarded(bounds=False).body)
        if op.name in OBLIGATIONS
    }
    assert kept == {"load": False, "store": False, "idiv": True, "irem": True} or kept == {
        "load": False,
        "store": False,
        "idiv": True,
    }


def stencil(a: wp.array(dtype=float), b: wp.array(dtype=float), w: float):
    i = wp.tid()
    b[i] = w * a[i] + a[i + 1]


def saxpy(a: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float), s: float):
    i = wp.tid()
    y[i] = s * x[i] + a[i]


@pytest.mark.cpu
@pytest.mark.parametrize("function", [stencil, saxpy], ids=lambda f: f.__name__)
def test_code_under_a_true_condition_is_that_of_unchecked_kernels(function):
    checked = wp.kernel(function, name="same")
    unchecked = wp.kernel(function, name="same", safety="unchecked")
    one, two = (k.program(k.concrete_types()) for k in (checked, unchecked))
    assert one.condition.clauses
    for unit in (False, True):
        for apart in (False, True):
            fast = one.variant(Choice(bounds=True, unit=unit, apart=apart))
            bare = two.variant(Choice(unit=unit, apart=apart))
            assert fast.artifact.code == bare.artifact.code
    guarded = one.variant(Choice())
    assert guarded.artifact.code != two.variant(Choice()).artifact.code


@wp.kernel(safety="strict")
def strict_map(a: wp.array(dtype=float), k: int):
    i = wp.tid()
    a[i] = 1.0


@wp.kernel(safety="strict")
def strict_gather(a: wp.array(dtype=float), j: wp.array(dtype=int)):
    i = wp.tid()
    a[j[i]] = a[j[i]] + 1.0
    assert a[i] > 0.0


def test_strict_launches_run_only_what_is_proved(device):
    with wp.ScopedDevice(device):
        a = wp.zeros(3)
        for _ in range(4):
            wp.launch(strict_map, dim=3, inputs=[a, 0])
            with pytest.raises(wp.ProofError, match="H0606") as info:
                wp.launch(strict_map, dim=4, inputs=[a, 0])
        text = str(info.value)
        assert "a[i] = 1.0" in text
        assert "dim[0] <= a.shape[0]" in text
        assert a.list() == [1.0] * 3
        b = wp.zeros(3)
        for _ in range(3):
            with pytest.raises(wp.ProofError) as info:
                wp.launch(strict_gather, dim=3, inputs=[b, wp.array([0, 1, 2], dtype=int)])
        assert "an assertion" in str(info.value)
        assert b.list() == [0.0] * 3, "something ran"


def test_recorded_strict_launches_ask_each_time():
    a, short = wp.zeros(4), wp.zeros(2)
    command = wp.launch(strict_map, dim=4, inputs=[a, 0], record_cmd=True)
    for _ in range(3):
        command.launch()
    command.set_param_by_name("a", short)
    for _ in range(3):
        with pytest.raises(wp.ProofError):
            command.launch()
    assert short.list() == [0.0, 0.0]


def test_debugging_shows_the_tree_and_every_pass(monkeypatch, capsys):
    @wp.kernel
    def watched(a: wp.array(dtype=float)):
        i = wp.tid()
        if i > 0:
            a[i] = 2.0 * 3.0

    monkeypatch.setattr(wp.config, "debug", True)
    watched.prepare()
    text = capsys.readouterr().err
    assert "If: if i > 0:" in text
    for name in ("fold_constants", "drop_dead", "scalarise"):
        assert f"; watched after {name}" in text
    assert "kernel @watched<1>" in text


@wp.kernel
def accumulate(a: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(a.shape[0]):
        y[i] += a[k]


def test_arrays_that_overlap_have_code_of_their_own():
    program = accumulate.program(accumulate.concrete_types())
    assert program.questions == ("bounds", "unit", "apart")
    whole = wp.array(np.arange(8, dtype=np.float32))
    for _ in range(2):  # also by the launch entry
        y = wp.zeros(4)
        wp.launch(accumulate, dim=4, inputs=[whole, y])
        assert y.list() == [28.0] * 4
    assert set(program.compiled()) == {0b111}
    # One thread adds up the numbers, and each sum is the next number to be added.
    for _ in range(2):
        whole = wp.array(np.arange(8, dtype=np.float32))
        wp.launch(accumulate, dim=1, inputs=[whole, whole[7:]])
        assert whole.list() == [0, 1, 2, 3, 4, 5, 6, 56]
    assert set(program.compiled()) == {0b111, 0b011}


def test_only_loads_after_stores_ask_whether_arrays_overlap():
    assert add_one.program(add_one.concrete_types()).questions == ("bounds", "unit")


GRAVITY = 9.81


@wp.kernel
def fall(a: wp.array(dtype=float)):
    a[0] = GRAVITY


def test_debugging_reports_changed_captures(monkeypatch, capsys):
    monkeypatch.setattr(wp.config, "debug", True)
    a = wp.zeros(1)
    for _ in range(2):
        wp.launch(fall, dim=1, inputs=[a])
    assert "has changed" not in capsys.readouterr().err
    monkeypatch.setitem(globals(), "GRAVITY", 1.62)
    wp.launch(fall, dim=1, inputs=[a])
    assert "what kernel 'fall' captures has changed" in capsys.readouterr().err
    assert a.numpy()[0] == np.float32(9.81)
    fall.invalidate()
    wp.launch(fall, dim=1, inputs=[a])
    assert "has changed" not in capsys.readouterr().err
    assert a.numpy()[0] == np.float32(1.62)


def huge(extent):
    """An array whose elements are all the same four bytes."""
    return wp.array(np.broadcast_to(np.float32(5.0), (extent,)), copy=False)


@wp.kernel
def last(a: wp.array(dtype=float), out: wp.array(dtype=wp.int64)):
    n = wp.int64(a.shape[0])
    if a[n - wp.int64(1)] == 5.0:
        out[0] = n


def test_extents_beyond_31_bits_get_wide_indices(device):
    with wp.ScopedDevice(device):
        out = wp.zeros(1, dtype=wp.int64)
        for extent in (3, 2**31 - 1, 2**31, 2**33):
            wp.launch(last, dim=1, inputs=[huge(extent), out])
            assert out.list() == [extent]


def test_a_kernel_that_does_not_type_with_wide_indices_is_refused():
    @wp.kernel
    def narrow(a: wp.array(dtype=float), out: wp.array(dtype=int)):
        out[0] = a.shape[0]

    out = wp.zeros(1, dtype=int)
    wp.launch(narrow, dim=1, inputs=[huge(4), out])
    with pytest.raises(wp.LaunchError) as info:
        wp.launch(narrow, dim=1, inputs=[huge(2**31), out])
    text = str(info.value)
    assert "H0210" in text
    assert "out[0] = a.shape[0]" in text
    assert "wp.int32(...)" in text


@pytest.mark.parametrize(("c", "shown"), [(65, "A"), (0x10FFFF + 1, "\ufffd"), (-5, "\ufffd")])
def test_numbers_print_as_in_c_and_characters_never_fail(device, capsys, c, shown):
    wp.launch(in_c, dim=1, inputs=[-1, c], device=device)
    assert capsys.readouterr().out == f"ffffffff 37777777777 255 FF -1|{shown}|\ufffd\n"


def test_what_the_terminal_cannot_show_is_escaped(device, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    wp.launch(in_c, dim=1, inputs=[0, 0xD800], device=device)
    assert out.buffer.getvalue() == b"0 0 0 0 0|\\ud800|\0\n"
