"""What of the CUDA runtime needs no GPU: errors of a driver, fault records, assembling."""

import ctypes
import shutil
import struct
import threading
from types import SimpleNamespace

import pytest

from heald.artifact import Fault, FaultKind, Site, abi, fault_error
from heald.diagnostics import DeviceError, InternalError
from heald.runtime.cuda import assembler, driver, jit_link, toolkit
from heald.runtime.cuda.devices import Discovery
from heald.runtime.cuda.jit_link import find_jit_link
from heald.runtime.cuda.queue import decode_fault


class Library:
    """A driver library that answers as told."""

    def __init__(self, version=13000, **status):
        self.version = version
        self.status = status

    def cuDriverGetVersion(self, place):  # noqa: N802
        place._obj.value = self.version
        return 0

    def cuGetErrorName(self, status, place):  # noqa: N802
        place._obj.value = b"CUDA_ERROR_SOME"
        return 0

    def cuGetErrorString(self, status, place):  # noqa: N802
        place._obj.value = b"some reason"
        return 0

    def __getattr__(self, name):
        return lambda *arguments: self.status.get(name, 0)


def start(monkeypatch, **how):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(**how))
    return driver.Driver()


def code_of(call, *arguments):
    with pytest.raises(DeviceError) as caught:
        call(*arguments)
    (code,) = caught.value.codes
    return code, str(caught.value)


def test_a_machine_without_driver(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    code, text = code_of(driver.Driver)
    assert code == "H0806"
    assert "no CUDA driver" in text


def test_a_driver_without_gpu(monkeypatch):
    code, text = code_of(lambda: start(monkeypatch, cuInit=100))
    assert code == "H0806"
    assert "no GPU" in text


def test_an_old_driver(monkeypatch):
    code, text = code_of(lambda: start(monkeypatch, version=11080))
    assert code == "H0807"
    assert "CUDA 11.8" in text
    assert "need 12.3" in text


def test_errors_of_the_driver(monkeypatch):
    call = start(monkeypatch, cuCtxSynchronize=700, cuMemAlloc_v2=2, cuModuleLoadData=218)
    code, text = code_of(call, "cuCtxSynchronize")
    assert code == "H0808"
    assert "CUDA_ERROR_SOME (700) from cuCtxSynchronize" in text
    assert "cannot be used any more" in text
    assert "any more" not in code_of(call, "cuModuleLoadData")[1]
    assert code_of(call, "cuMemAlloc_v2")[0] == "H0802"


def test_a_forked_child_cannot_use_it(monkeypatch):
    call = start(monkeypatch, cuMemFree_v2=1)
    call("cuCtxSynchronize")
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert code_of(call, "cuCtxSynchronize")[0] == "H0809"
    call.attempt("cuMemFree_v2")  # what a finaliser calls never raises


def key_of(thread, op, kind):
    return thread << abi.FAULT_THREAD_SHIFT | op << abi.FAULT_KIND_BITS | kind


def slot(key, rank, index, shape):
    return struct.pack("<10q", key, rank, *index, *shape)


def test_the_lowest_fault_counts():
    low, high = key_of(3, 17, FaultKind.BOUNDS), key_of(9, 2, FaultKind.DIVISION)
    slots = slot(high, 0, [0] * 4, [0] * 4) + slot(low, 2, [5, -1, 7, 7], [4, 4, 9, 9])
    assert decode_fault(low, 8, slots) == Fault(FaultKind.BOUNDS, 17, 3, (5, -1), (4, 4), 8)
    assert decode_fault(high, 8, slots) == Fault(FaultKind.DIVISION, 2, 9, count=8)


def test_a_fault_that_found_no_slot_is_still_told():
    key = key_of(abi.GPU_MAX_THREADS - 1, (1 << abi.FAULT_OP_BITS) - 1, FaultKind.HANDLE)
    assert 0 < key < abi.NO_THREAD
    fault = decode_fault(key, 5000, slot(key - 8, 1, [1] * 4, [2] * 4))
    assert (fault.thread, fault.op) == (abi.GPU_MAX_THREADS - 1, (1 << abi.FAULT_OP_BITS) - 1)
    assert fault.index == ()


def test_a_fault_without_index_names_its_array():
    fault = decode_fault(key_of(5, 1, FaultKind.BOUNDS), 9, b"")
    error = fault_error(fault, Site("load", None, "a"), "thread 5 of kernel 'k'")
    assert "an index outside 'a', in thread 5 of kernel 'k'" in str(error)


def test_kinds_fit():
    found_elsewhere_only = {FaultKind.RACE, FaultKind.MEMORY}
    kinds = set(FaultKind) - found_elsewhere_only
    assert all(kind < 1 << abi.FAULT_KIND_BITS for kind in kinds)


@pytest.fixture
def bare(monkeypatch):
    """A machine where nothing makes machine code."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(assembler, "files", lambda *_, **__: iter(()))
    monkeypatch.setattr(assembler, "find_jit_link", lambda: None)
    monkeypatch.setattr(assembler, "discover", lambda: Discovery(()))


@pytest.mark.usefixtures("bare")
def test_nothing_here_assembles():
    code, text = code_of(assembler.assemble, b"", "sm_123")
    assert code == "H0810"
    assert "sm_123" in text
    assert assembler.resource_report(b"", "sm_90") == ""


@pytest.mark.usefixtures("bare")
def test_the_linker_assembles_for_gpus_that_are_not_here(monkeypatch):
    known = {"sm_90": b"code"}
    library = SimpleNamespace(assemble=lambda ptx, arch: known.get(arch))
    monkeypatch.setattr(assembler, "find_jit_link", lambda: library)
    assert assembler.assemble(b"ptx", "sm_90") == b"code"
    assert code_of(assembler.assemble, b"ptx", "sm_123")[0] == "H0810"


def test_a_toolkit_is_found_in_packages_and_folders(monkeypatch, tmp_path):
    """The advice of H0810 works: pip puts ptxas into a package, not on the path."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(tmp_path)
    places = ("home/bin", "nvidia/cuda_nvcc/bin", "nvidia/cu99/bin")
    for number, place in enumerate(places):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "ptxas").touch(mode=0o755)
        found = toolkit.files("bin/ptxas", of_packages="bin/ptxas")
        own = [str(p.relative_to(tmp_path).parent) for p in found if p.is_relative_to(tmp_path)]
        assert sorted(own) == sorted(places[: number + 1])
        assert own[-1] == "home/bin"
    assert assembler.find_ptxas() == str(tmp_path / "nvidia/cu99/bin/ptxas")
    (tmp_path / "nvidia/cu99/bin/ptxas").chmod(0o644)
    assert assembler.find_ptxas() != str(tmp_path / "nvidia/cu99/bin/ptxas")
    monkeypatch.delenv("CUDA_HOME")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "home"))
    assert [*toolkit.files("bin/ptxas", of_packages="no")] == [tmp_path / "home/bin/ptxas"]


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="ptxas is not installed")
def test_ptxas_makes_code_and_says_what_it_takes():
    text = b".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"
    assert assembler.assemble(text, "sm_90").startswith(b"\x7fELF")
    assert "registers" in assembler.resource_report(text, "sm_90")
    with pytest.raises(InternalError, match="ptxas refuses"):
        assembler.assemble(text.replace(b"ret", b"rat"), "sm_90")


def test_who_waits_for_code_lets_others_go_on(monkeypatch):
    turn, other_has_it = threading.Lock(), threading.Event()

    def wait(gpu, ptx):
        assert other_has_it.wait(10)
        return b"code"

    def other():
        with assembler.taking_turns(turn):
            other_has_it.set()

    monkeypatch.setattr(assembler, "_by_driver", wait)
    with assembler.taking_turns(turn):
        thread = threading.Thread(target=other)
        thread.start()
        assert assembler.assemble_on(None, b"") == b"code"
        assert turn.locked()
    thread.join()
    assert not turn.locked()


def test_threads_that_compile_together_leave_the_driver_alone(monkeypatch):
    """It assembles for one thread at a time and loads nothing meanwhile; the library does neither.
    PTX that the library refuses goes to the driver, which says why."""
    library = SimpleNamespace(assemble=lambda ptx, arch: b"library" if ptx else None)
    gpu = SimpleNamespace(driver=SimpleNamespace(version=13000))
    monkeypatch.setattr(assembler, "find_jit_link", lambda version: library)
    monkeypatch.setattr(assembler, "_by_driver", lambda gpu, ptx: b"driver")
    assert assembler.assemble_on(gpu, b"ptx", "sm_90") == b"driver"
    with assembler.taking_turns(threading.Lock()):
        assert assembler.assemble_on(gpu, b"ptx", "sm_90") == b"library"
        assert assembler.assemble_on(gpu, b"ptx") == b"driver"
        assert assembler.assemble_on(gpu, b"", "sm_90") == b"driver"


def test_a_busy_driver_is_not_waited_for(monkeypatch):
    library = SimpleNamespace(assemble=lambda ptx, arch: b"library")
    gpu = SimpleNamespace(driver=SimpleNamespace(version=13000))
    monkeypatch.setattr(assembler, "find_jit_link", lambda version: library)
    monkeypatch.setattr(assembler, "_by_driver", lambda gpu, ptx: b"driver")
    with assembler._DRIVER:
        assert assembler.assemble_on(gpu, b"ptx", "sm_90") == b"library"
    assert assembler.assemble_on(gpu, b"ptx", "sm_90") == b"driver"


def test_the_linker_is_read_without_pythons_lock(monkeypatch):
    """``CDLL`` would hold the lock meanwhile; with a handle it reads nothing."""
    opened, load = [], ctypes.CDLL

    def record(name, **more):
        opened.append((name, more))
        return load(name, **more)

    monkeypatch.setattr(jit_link.ctypes, "CDLL", record)
    library = jit_link._open("libc.so.6")
    assert library.labs(-3) == 3
    (name, more) = opened[-1]
    assert name == "libc.so.6"
    assert more["handle"]
    with pytest.raises(OSError, match="libnothing"):
        jit_link._open("libnothing.so")


def test_any_linker_will_do_where_there_is_no_driver():
    library = find_jit_link()
    assert library is None or library.version[0] >= 12


def test_a_linker_newer_than_the_driver_is_not_used():
    assert find_jit_link(11080) is None
