"""Everyday errors about GPUs, their streams and the memory that is shared with them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from errors.everyday.checks import refused
from fake_cuda import Fake, use_fake_gpu
from unit.runtime.test_cuda import start
from unit.runtime.test_queue import fault

import heald as wp
from heald.cli import doctor_checks
from heald.diagnostics import DeviceError, Diagnostic
from heald.driver import launch_hints
from heald.driver.gpu import Told
from heald.runtime.cuda import assembler, jit_link
from heald.runtime.cuda.assembler import taking_turns
from heald.runtime.cuda.jit_link import find_jit_link
from heald.runtime.cuda.queue import queue_of, register

GPU = "cuda:0"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A driver of one GPU that is there, for what needs no kernels."""
    return use_fake_gpu(monkeypatch)[0]


@wp.kernel
def shifted(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.printf("thread %d\n", i)
    out[i] = a[i + 1]


@pytest.mark.usefixtures("no_driver")
def test_no_driver() -> None:
    with refused("H0806", "no CUDA device", remedy="device='cpu'"):
        wp.zeros(3, dtype=float, device=GPU)


@pytest.mark.usefixtures("no_driver")
def test_pinned_memory_without_a_gpu() -> None:
    with refused("H0806", "no CUDA device", remedy="device='cpu'"):
        wp.zeros(3, dtype=float, device="cpu", pinned=True)


def test_a_stream_of_the_cpu() -> None:
    with refused("H0805", "'cpu' is no GPU", remedy="cuda:0"):
        wp.Stream("cpu")


@wp.kernel
def quiet(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i + 1]


@wp.kernel
def count_to(a: wp.array(dtype=int), value: int, steps: int):
    x = wp.uint32(1)
    for _ in range(steps):
        x = x * wp.uint32(1664525) + wp.uint32(1013904223)
    a[0] = value + wp.where(x == wp.uint32(7), 1, 0)  # it is not


def fail() -> None:
    """What thread 2 of a launch of ``shifted`` leaves when it has failed."""
    shifted.prepare()
    variant, *_ = shifted.program(shifted.concrete_types()).compiled().values()
    sites = variant.artifact.sites
    queue = queue_of(wp.get_stream(GPU))
    number = queue.note(register(Told("shifted", sites, {})), (3,))
    fault(queue, number, 2, op=next(op for op, site in sites.items() if site.subject == "a"))


LATER = {
    "synchronize": lambda a: wp.synchronize(),
    "one stream": lambda a: wp.synchronize(wp.get_stream(GPU)),
    "numpy": lambda a: a.numpy(),
    "another call": lambda a: a.fill_(1.0),
}


@pytest.mark.parametrize("way", LATER)
def test_a_fault_is_told_to_be_of_an_earlier_launch(fake: Fake, way: str) -> None:
    a = wp.zeros(3, device=GPU)
    fail()
    said = "outside 'a'", "thread 2 of kernel", "out[i] = a[i + 1]", "earlier launch"
    with refused("H0401", *said, remedy="wp.config.verify_cuda = True (HEALD_VERIFY_CUDA=1)"):
        LATER[way](a)


def test_launches_that_are_waited_for_fail_themselves(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As all do on a CPU."""
    with pytest.raises(wp.OutOfBoundsError) as here:
        wp.launch(shifted, dim=3, inputs=[wp.zeros(3), wp.zeros(3)])
    monkeypatch.setattr(wp.config, "verify_cuda", True)
    fail()
    with pytest.raises(wp.OutOfBoundsError) as there:
        wp.synchronize()
    for caught in (here, there):
        assert "earlier" not in str(caught.value)
        assert "VERIFY_CUDA" not in str(caught.value)


@pytest.mark.gpu
def test_a_launch_that_failed_before_a_synchronise(capsys: pytest.CaptureFixture[str]) -> None:
    """What it has printed comes first."""
    a, out = wp.zeros(3, device=GPU), wp.zeros(3, device=GPU)
    wp.launch(shifted, dim=3, inputs=[a, out], device=GPU)
    with refused(
        "H0401", "index 3 outside 'a'", "thread 2 of kernel", remedy="HEALD_VERIFY_CUDA=1"
    ):
        wp.synchronize()
    assert capsys.readouterr().out.count("thread 2") == 1


@pytest.mark.gpu
def test_a_stream_that_nobody_waits_for(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import heald as wp\n"
        "@wp.kernel\ndef k(a: wp.array(dtype=int)):\n    a[wp.tid() + 1] = 7\n"
        "a = wp.zeros(3, dtype=int, device='cuda:0')\n"
        "wp.launch(k, dim=3, inputs=[a], stream=wp.Stream('cuda:0'))\n"
    )
    environment = {**os.environ, "HEALD_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
    )
    assert "nobody waited for a launch that failed" in done.stderr
    assert "HEALD_VERIFY_CUDA=1" in done.stderr
    assert "thread 2 of kernel 'k'" in done.stderr


READS = {"numpy": lambda a: a.numpy(), "element": lambda a: a[0], "list": lambda a: a.list()}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("way", ["nothing", "wait_stream", "synchronize_stream", "ScopedStream"])
def test_a_stream_that_is_not_waited_for_before_its_results_are_read(
    fake: Fake, way: str, read: str
) -> None:
    """A read waits for its own stream, and for another one only where it is told to."""
    a, side, current = wp.zeros(3, device=GPU), wp.Stream(GPU), wp.get_stream(GPU)
    waited: set[int] = set()
    events: dict[int, int] = {}
    told: Any = fake
    told.cuEventRecord = lambda event, on: events.update({event.value: on.value})
    told.cuStreamSynchronize = lambda stream: waited.add(stream.value)
    told.cuStreamWaitEvent = lambda stream, event, _: (
        waited.add(events[event.value]) if stream.value == current.cuda_stream else None
    )
    match way:
        case "wait_stream":
            wp.wait_stream(side)
        case "synchronize_stream":
            wp.synchronize_stream(side)
    with wp.ScopedStream(side if way == "ScopedStream" else None, sync_enter=False):
        READS[read](a)
    assert (side.cuda_stream in waited) == (way != "nothing")


@pytest.mark.gpu
@pytest.mark.parametrize("way", ["wait_stream", "synchronize_stream", "ScopedStream"])
def test_results_of_a_stream_that_is_waited_for(way: str) -> None:
    a, side = wp.zeros(1, dtype=int, device=GPU), wp.Stream(GPU)
    wp.synchronize()
    for turn in range(1, 4):
        wp.launch(count_to, dim=1, inputs=[a, turn, 1 << 20], stream=side)
        match way:
            case "ScopedStream":
                with wp.ScopedStream(side):
                    assert a.list() == [turn]
            case "wait_stream":
                wp.wait_stream(side)
                assert a[0] == turn
            case _:
                wp.synchronize_stream(side)
                assert a.numpy() == [turn]


@pytest.mark.gpu
def test_a_stream_of_another_device() -> None:
    a = wp.zeros(3, device="cpu")
    with refused("H0812", "'cpu'", "'cuda:0'", remedy="leave device= out"):
        wp.launch(shifted, dim=2, inputs=[a, a], device="cpu", stream=wp.Stream(GPU))


@pytest.mark.gpu
def test_the_host_in_the_middle_of_a_capture() -> None:
    a = wp.zeros(3, device=GPU)
    with wp.ScopedCapture(GPU), refused("H0811", "copy to the host", remedy="before capture_begin"):
        a.numpy()


class HostTensor:
    """What another library keeps in memory of the host."""

    def __dlpack__(self, **options: Any) -> Any:
        return np.zeros(4, np.float32).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("given", [np.zeros(4, np.float32), np.zeros(4), HostTensor()], ids=type)
def test_data_of_the_host_where_an_array_of_the_gpu_is_needed(given: Any) -> None:
    out = wp.zeros(3, device=GPU)
    with refused("H0704", "'a'", "host", "'cuda:0'", remedy="wp.array(x, device='cuda:0')"):
        wp.launch(shifted, dim=3, inputs=[given, out], device=GPU)
    with refused("H0704", "host", "'cuda:0'", remedy="device='cuda:0'"):
        wp.array(np.zeros(4, np.float32), device=GPU, copy=False)


def test_data_of_the_host_for_the_cpu() -> None:
    """A numpy array is taken as it is."""
    out = wp.zeros(3)
    wp.launch(shifted, dim=3, inputs=[np.arange(4, dtype=np.float32), out])
    assert out.list() == [1.0, 2.0, 3.0]
    with refused("H0702", "'a'", "HostTensor", remedy="wp.from_dlpack(x)"):
        wp.launch(shifted, dim=3, inputs=[HostTensor(), out])


@pytest.mark.usefixtures("fake")
def test_a_list_where_an_array_of_the_gpu_is_needed() -> None:
    with refused("H0702", "list", remedy="wp.array(..., device='cuda:0')"):
        wp.launch(shifted, dim=3, inputs=[[1.0], wp.zeros(3, device=GPU)], device=GPU)


@pytest.mark.gpu
def test_a_host_tensor_where_one_of_the_gpu_is_needed() -> None:
    torch = pytest.importorskip("torch")
    out, a = wp.zeros(3, device=GPU), torch.zeros(4)
    with refused("H0704", "lives on 'cpu'", remedy=".to('cuda:0')"):
        wp.launch(shifted, dim=3, inputs=[wp.from_torch(a), out], device=GPU)
    with refused("H0704", "host", remedy="wp.array(x, device='cuda:0')"):
        wp.launch(shifted, dim=3, inputs=[a, out], device=GPU)


@pytest.mark.gpu
def test_a_tensor_with_gaps_and_on_another_stream() -> None:
    """Neither is a mistake here."""
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        t = torch.arange(12.0, device="cuda").reshape(3, 4)
        a = wp.from_torch(t[:, 1])
    np.testing.assert_array_equal(a.numpy(), [1.0, 5.0, 9.0])


@pytest.mark.parametrize(
    ("wanted", "remedy"),
    [(1 << 31, "in pieces: make large arrays first"), (1 << 32, "smaller"), (1 << 20, "smaller")],
)
def test_memory_of_a_gpu_in_pieces(
    wanted: int, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that holds 5 GiB, 3 of them in use, on a GPU that has 1 GiB more."""
    fake, gpu = use_fake_gpu(monkeypatch)

    def full(*_: object) -> None:
        raise DeviceError(Diagnostic("H0802", "the driver says so"))

    def pool(_: object, which: Any, place: Any) -> None:
        place._obj.value = {5: 5 << 30, 7: 3 << 30}[which.value]

    def free(place: Any, _: object) -> None:
        place._obj.value = 1 << 30

    gpu.has_pools = gpu.uses_pool = True
    for name, does in {
        "cuMemAllocAsync": full,
        "cuMemPoolGetAttribute": pool,
        "cuMemGetInfo_v2": free,
    }.items():
        monkeypatch.setattr(fake, name, does, raising=False)
    said = "1,073,741,824 bytes are free", "holds 5,368,709,120", "3,221,225,472 are in use by"
    with refused("H0802", *said, "2,147,483,648 are not", remedy=remedy):
        wp.empty(wanted, dtype=wp.int8, device=GPU)


@pytest.mark.gpu
def test_out_of_memory_of_a_gpu() -> None:
    keep = wp.zeros(1000, device=GPU)
    with refused("H0802", "on 'cuda:0'", "bytes are free", remedy="memory pool of this process"):
        wp.zeros(1 << 42, dtype=wp.int8, device=GPU)
    with refused("H0802", remedy="smaller arrays"):
        wp.zeros(1 << 42, dtype=wp.int8, device=GPU)
    assert keep.numpy().sum() == 0


def test_nvjitlink_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver makes the code, and ``heald doctor`` says so."""

    def missing(place: str) -> ctypes.CDLL:
        raise OSError(place)

    find = find_jit_link.__wrapped__
    monkeypatch.setattr(jit_link, "_open", missing)
    assert find(13000) is None
    fake, gpu = use_fake_gpu(monkeypatch)
    monkeypatch.setattr(fake, "version", 13000, raising=False)
    monkeypatch.setattr(assembler, "find_jit_link", find)
    monkeypatch.setattr(assembler, "_by_driver", lambda _, ptx: b"code of " + ptx)
    with taking_turns(Lock()):
        assert assembler.assemble_on(gpu, b"this", "sm_90") == b"code of this"
    monkeypatch.setattr(doctor_checks, "find_jit_link", find)
    (found,) = [c for c in doctor_checks._assemblers(13000) if c.name == "nvJitLink"]
    assert "the driver does its work" in found.value
    assert "pip install nvidia-nvjitlink" in found.value


@pytest.fixture
def hints() -> Iterator[None]:
    wp.config.hints = True
    yield
    wp.config.hints = False


@pytest.mark.usefixtures("fake")
def test_a_storm_of_small_launches_on_a_gpu() -> None:
    shifted.prepare()
    program, device = shifted.program(shifted.concrete_types()), wp.get_device(GPU)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2000):
            with launch_hints((4,), device, 1) as programs:
                programs.append((program, ()))
    (hint,) = [str(w.message) for w in caught]
    assert "H1001" in hint
    assert "capture them in a graph (wp.ScopedCapture)" in hint


@pytest.mark.gpu
@pytest.mark.usefixtures("hints")
def test_a_storm_of_small_launches_on_a_real_gpu() -> None:
    a, out = wp.zeros(5, device=GPU), wp.zeros(4, device=GPU)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(1100):
            wp.launch(quiet, dim=4, inputs=[a, out], device=GPU)
    (hint,) = [str(w.message) for w in caught if "H1001" in str(w.message)]
    assert "wp.ScopedCapture" in hint


@pytest.mark.parametrize("stream", [77, None])
def test_memory_with_gaps_and_of_another_stream(fake: Fake, stream: int | None) -> None:
    """Neither is a mistake: the strides are taken as they are, and the work that the stream of
    the other library has is waited for.  One that names no stream says that it is done."""
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    theirs, marked = wp.array(data, device=GPU)[:, 1], []
    fake.cuEventRecord = lambda _, on: marked.append(on.value)  # type: ignore[attr-defined]
    said = {**theirs.__cuda_array_interface__, "stream": stream}
    a = wp.array(SimpleNamespace(__cuda_array_interface__=said), device=GPU, copy=False)
    assert (a.ptr, a.strides) == (theirs.ptr, (16,))
    assert (77 in marked) == (stream == 77)
    assert a.list() == [1.0, 5.0, 9.0]


@pytest.mark.gpu
def test_a_forked_worker(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import os\n"
        "import heald as wp\n"
        "a = wp.zeros(3, dtype=int, device='cuda:0')\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        wp.zeros(3, dtype=int, device='cuda:0')\n"
        "    except wp.DeviceError as error:\n"
        "        assert error.codes == ('H0809',)\n"
        "        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "assert a.list() == [0, 0, 0]\n"
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert "was forked from one that used CUDA" in done.stdout
    assert "hint: start workers by multiprocessing.get_context('spawn')" in done.stdout


def test_a_driver_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("H0807", "CUDA 11.8", "need 12.3", remedy="545 or newer"):
        start(monkeypatch, version=11080)
