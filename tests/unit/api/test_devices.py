"""Scoped devices and timers."""

import threading
import time

import pytest

from heald.api import devices
from heald.api.devices import (
    ScopedDevice,
    ScopedTimer,
    get_cuda_device_count,
    get_cuda_devices,
    get_device,
    get_devices,
    get_preferred_device,
    is_cpu_available,
    is_cuda_available,
    is_device_available,
    set_device,
    synchronize_device,
)
from heald.diagnostics import DeviceError
from heald.runtime import CPU, SIM, Device


@pytest.fixture(autouse=True)
def _restore():
    yield
    set_device("cpu")


@pytest.mark.usefixtures("no_driver")
def test_what_devices_there_are_without_a_gpu():
    assert get_devices() == ["cpu", "sim"]
    assert get_preferred_device() == "cpu"
    assert is_cpu_available()
    assert not is_cuda_available()
    assert get_cuda_device_count() == 0
    assert is_device_available(SIM)
    assert not is_device_available(Device("cuda:0", "a GPU", "cuda"))


@pytest.mark.gpu
def test_what_devices_there_are_with_a_gpu():
    number = get_cuda_device_count()
    assert number > 0
    gpus = [f"cuda:{n}" for n in range(number)]
    assert get_devices() == ["cpu", "sim", *gpus]
    assert get_cuda_devices() == gpus
    assert get_preferred_device() == "cuda:0"
    assert is_cuda_available()
    assert is_device_available(get_device("cuda:0"))


def test_a_scope_sets_and_restores_the_device():
    with ScopedDevice("sim") as device:
        assert device is SIM
        assert get_device() is SIM
        with ScopedDevice("cpu"):
            assert get_device() is CPU
        assert get_device() is SIM
    assert get_device() is CPU


def test_a_scope_ends_with_an_error_too():
    with pytest.raises(KeyError), ScopedDevice("sim"):
        raise KeyError
    assert get_device() is CPU


def test_one_scope_can_be_entered_inside_itself():
    scope = ScopedDevice("sim")
    with scope:
        set_device("cpu")
        with scope:
            assert get_device() is SIM
        assert get_device() is CPU
    assert get_device() is CPU


def test_a_scope_belongs_to_its_thread():
    seen = []
    with ScopedDevice("sim"):
        thread = threading.Thread(target=lambda: seen.append(get_device()))
        thread.start()
        thread.join()
    assert seen == [CPU]


def test_unknown_devices_are_refused_before_the_block():
    with pytest.raises(DeviceError):
        ScopedDevice("gpu")
    with pytest.raises(DeviceError):
        synchronize_device("gpu")
    synchronize_device()


def test_a_timer_measures_and_reports(capsys):
    with ScopedTimer("outer") as outer, ScopedTimer("inner") as inner:
        time.sleep(0.002)
    assert outer.elapsed >= inner.elapsed >= 2
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"    inner took {inner.elapsed:.2f} ms"
    assert second == f"outer took {outer.elapsed:.2f} ms"


def test_a_timer_collects():
    results: dict = {}
    for _ in range(2):
        with ScopedTimer("step", print=False, dict=results) as timer:
            pass
    assert len(results["step"]) == 2
    assert results["step"][1] == timer.elapsed


def test_a_quiet_timer_and_one_that_is_off(capsys):
    with ScopedTimer("quiet", print=False) as timer:
        pass
    assert timer.elapsed > 0
    with ScopedTimer("off", active=False) as timer:
        pass
    assert timer.elapsed == 0
    assert capsys.readouterr().out == ""


def test_a_timer_reports_to_a_function():
    lines = []
    with ScopedTimer("step", report_func=lines.append):
        pass
    assert len(lines) == 1
    assert lines[0].startswith("step took ")


def test_a_timer_profiles(capsys):
    with ScopedTimer("step", detailed=True):
        sorted([3, 1, 2])
    out = capsys.readouterr().out
    assert "function calls" in out
    assert "sorted" in out


def test_a_timer_waits_for_the_devices(monkeypatch):
    calls = []
    monkeypatch.setattr(devices, "synchronize", lambda: calls.append(1))
    with ScopedTimer("step", print=False, synchronize=True):
        pass
    assert len(calls) == 2


def test_timers_after_an_error_are_not_indented(capsys):
    with pytest.raises(KeyError), ScopedTimer("broken"):
        raise KeyError
    with ScopedTimer("next"):
        pass
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["broken", "next"]
