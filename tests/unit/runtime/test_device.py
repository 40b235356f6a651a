"""Devices: names, the current one of each thread, and what is said about unknown ones."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from heald.diagnostics import DeviceError
from heald.runtime import (
    CPU,
    SIM,
    Device,
    current_device,
    devices,
    get_device,
    set_device,
    synchronize,
)
from heald.runtime.cuda import devices as cuda
from heald.runtime.cuda.devices import Discovery


@pytest.fixture(autouse=True)
def _restore():
    before = current_device()
    yield
    set_device(before)


def test_names_and_objects_mean_the_same_device():
    assert get_device("cpu") is CPU
    assert get_device("sim") is SIM
    assert get_device(SIM) is SIM
    assert devices()[:2] == (CPU, SIM)


def test_a_device_equals_its_name_and_nothing_else():
    assert CPU == "cpu"
    assert CPU != "sim"
    assert CPU != SIM
    assert CPU != 0
    assert {CPU: 1}["cpu"] == 1
    assert str(SIM) == "sim"


def test_kinds():
    assert (CPU.is_cpu, CPU.is_sim, CPU.is_cuda, CPU.is_host) == (True, False, False, True)
    assert (SIM.is_cpu, SIM.is_sim, SIM.is_cuda, SIM.is_host) == (False, True, False, True)


def test_none_is_the_current_device():
    assert get_device(None) is CPU
    assert set_device("sim") is SIM
    assert get_device() is SIM
    assert current_device() is SIM


def test_every_thread_has_its_own_current_device():
    set_device("sim")
    seen = []

    def work():
        seen.append(current_device())
        set_device("cpu")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [CPU]
    assert current_device() is SIM


@pytest.mark.parametrize(("name", "near"), [("cpuu", "cpu"), ("CPU", "cpu"), ("simm", "sim")])
def test_an_unknown_name_gets_the_nearest_one(name, near):
    with pytest.raises(DeviceError) as caught:
        get_device(name)
    assert caught.value.codes == ("H0801",)
    assert caught.value.diagnostics[0].hint == f"did you mean {near!r}?"


def test_a_name_like_nothing_lists_the_devices():
    with pytest.raises(DeviceError, match="use one of 'cpu', 'sim'"):
        get_device("quantum")


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:3"])
@pytest.mark.usefixtures("no_driver")
def test_cuda_says_what_is_missing(name):
    with pytest.raises(DeviceError, match="no CUDA driver") as caught:
        get_device(name)
    assert caught.value.codes == ("H0806",)


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(cuda, "discover", lambda: Discovery(()))
    with pytest.raises(DeviceError, match="no device 'cuda:3'"):
        get_device("cuda:3")


def test_gpus_are_devices_once_somebody_asks(monkeypatch):
    gpu = SimpleNamespace(device=Device("cuda:0", "a GPU", "cuda"))
    monkeypatch.setattr(cuda, "discover", lambda: Discovery((gpu,)))
    assert get_device("cuda:0") is get_device("cuda") is gpu.device
    assert devices() == (CPU, SIM, gpu.device)
    assert (gpu.device.is_cuda, gpu.device.is_host) == (True, False)


def test_the_driver_is_not_opened_for_hosts():
    code = (
        "import heald as wp; wp.zeros(3, device='cpu'); wp.synchronize()\n"
        "from heald.runtime.cuda.devices import discover\n"
        "assert not discover.is_made"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("value", [0, 1.5, b"cpu", object])
def test_other_objects_are_no_devices(value):
    with pytest.raises(DeviceError, match="a device is a name or a Device"):
        get_device(value)


def test_a_failed_set_device_changes_nothing():
    with pytest.raises(DeviceError):
        set_device("cuda:99")
    assert current_device() is CPU


def test_synchronize_knows_its_devices():
    synchronize()
    synchronize("sim")
    with pytest.raises(DeviceError):
        synchronize("cuda:99")
