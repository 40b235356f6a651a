"""What a child finds that was forked while another thread compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heald.forks import ForkSafeLock

LOCKED = """
import os, threading
from heald.forks import ForkSafeLock

lock, taken, done = ForkSafeLock(), threading.Event(), threading.Event()

def hold():
    with lock:
        taken.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
taken.wait()
child = os.fork()
if child == 0:
    os._exit(7 if lock.acquire(blocking=False) else 1)
assert not lock.acquire(blocking=False)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
done.set()
thread.join()
assert lock.acquire(blocking=False)
"""

COMPILING = """
import gc, os, sys, threading
import heald as wp
import heald.driver.compiler as compiler

@wp.kernel
def twice(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0 * x[wp.tid()]

x = wp.ones(4, dtype=float)
compiling, done, parent = threading.Event(), threading.Event(), os.getpid()
make = compiler.compile_variant

def slowly(*args):
    if os.getpid() == parent:
        compiling.set()
        done.wait()
    return make(*args)

compiler.compile_variant = slowly
thread = threading.Thread(target=wp.launch, args=(twice, 4, [x]))
thread.start()
compiling.wait()
child = os.fork()
if child == 0:
    is_on = gc.isenabled()
    wp.launch(twice, 4, [x])
    os._exit(7 if (x.numpy() == 2).all() and is_on and gc.isenabled() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert not gc.isenabled()
done.set()
thread.join()
assert gc.isenabled()
"""


def _printed(script: str, folder: Path) -> str:
    file = folder / "script.py"
    file.write_text(script)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file)],
        env={**os.environ, "HEALD_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", [LOCKED, COMPILING], ids=["lock", "compiling"])
def test_a_forked_child_is_not_held_up(script: str, tmp_path: Path) -> None:
    assert _printed(script, tmp_path) == "7\n"


def test_a_lock_is_for_one() -> None:
    lock = ForkSafeLock()
    with lock:
        assert not lock.acquire(blocking=False)
    assert lock.acquire(blocking=False)
    lock.release()
    assert lock.acquire()


GPU = """
import ctypes, mmap, os, sys
import heald as wp
from fake_cuda import Fake, fake_gpu
from heald.diagnostics import DeviceError
from heald.driver import gpu as compiling
from heald.once import once
from heald.runtime.cuda import devices, driver, queue, streams

LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
CONTEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
launched = []
FUNCTIONS = {
    "cuLaunchKernelEx": LAUNCH(lambda *_: launched.append(os.getpid()) or 0),
    "cuCtxGetCurrent": CONTEXT(lambda _: 0),
    "cuCtxPushCurrent_v2": CONTEXT(lambda _: 0),
    "cuCtxPopCurrent_v2": CONTEXT(lambda _: 0),
}


class Loaded(Fake):
    is_usable = driver.Driver.is_usable
    check_process = driver.Driver.check_process
    _process = os.getpid()

    def __call__(self, name, *arguments):
        self.check_process()
        if name in FUNCTIONS:
            FUNCTIONS[name](*[None] * len(FUNCTIONS[name].argtypes))
        elif name in ("cuModuleGetFunction", "cuFuncGetAttribute"):
            arguments[0]._obj.value = 256
        else:
            super().__call__(name, *arguments)

    def cuMemHostAlloc(self, place, size, flags):
        memory = mmap.mmap(-1, size.value)
        memory.madvise(mmap.MADV_DONTFORK)  # children end where they touch it
        self.host.append((ctypes.c_char * size.value).from_buffer(memory))
        place._obj.value = ctypes.addressof(self.host[-1])

    def address(self, name):
        return ctypes.cast(FUNCTIONS[name], ctypes.c_void_p).value


sys.modules["fake_cuda"].Fake = Loaded
_, gpu = fake_gpu()
gpu.capability, gpu.processors = (9, 0), 8
devices.discover = queue.discover = once(lambda: devices.Discovery((gpu,)))
compiling.driver_version = lambda: 13000
compiling.assemble_on = lambda *_: b"code"


@wp.kernel
def twice(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0 * x[wp.tid()]


def told(action):
    try:
        action()
    except DeviceError as error:
        return error.codes[0]
    return "done"


def launch():
    wp.launch(twice, 4, [x], device="cuda:0")


x = wp.zeros(4, device="cuda:0")
command = wp.launch(twice, 4, [x], device="cuda:0", record_cmd=True)
for _ in range(4):
    launch()
    command.launch()
assert len(launched) == 8
assert twice.entries[1], "the last of them went through compiled code"
stream = wp.get_stream("cuda:0")
pinned = wp.zeros(4, device="cpu", pinned=True)
graph = wp.capture_begin("cuda:0") or launch() or wp.capture_end("cuda:0")
passing = wp.Stream("cuda:0")
wp.launch(twice, 4, [x], stream=passing)
del passing
wp.synchronize("cuda:0")
assert gpu.idle_queues, "of the stream that is gone"
unused = wp.Stream("cuda:0")
scope = wp.ScopedDevice("cpu")
with wp.ScopedDevice("cuda:0"):
    scope.__enter__()
ACTIONS = {
    "everything": wp.synchronize,
    "a timer": wp.ScopedTimer("", print=False, synchronize=True).__enter__,
    "the CPU": lambda: wp.synchronize("cpu"),
    "devices": wp.get_devices,
    "a scope of the CPU": lambda: wp.ScopedDevice("cpu").__enter__(),
    "the end of a scope": lambda: scope.__exit__(None, None, None),
    "the CPU again": lambda: wp.set_device("cpu"),
    "a GPU": lambda: wp.synchronize("cuda:0"),
    "set": lambda: wp.set_device("cuda:0"),
    "scope": lambda: wp.ScopedDevice("cuda:0").__enter__(),
    "launch": launch,
    "launch on a stream": lambda: wp.launch(twice, 4, [x], stream=stream),
    "launch on a new stream": lambda: wp.launch(twice, 4, [x], stream=unused),
    "launch on it again": lambda: wp.launch(twice, 4, [x], stream=unused),
    "command on it": lambda: command.launch(unused),
    "command": command.launch,
    "graph": lambda: wp.capture_launch(graph),
    "pinned": pinned.numpy,
    "contents": x.numpy,
    "zeros": lambda: wp.zeros(4, device="cuda:0"),
    "copy": lambda: wp.copy(x, x),
    "fill": lambda: x.fill_(1.0),
    "stream": lambda: wp.Stream("cuda:0"),
    "event": lambda: wp.Event("cuda:0"),
    "capture": lambda: wp.capture_begin("cuda:0"),
}
child = os.fork()
if child == 0:
    before = len(launched)
    y = wp.ones(4, device="cpu")
    wp.launch(twice, 4, [y], device="cpu")
    print(y.list() == [2.0] * 4, len(launched) == before)
    for name, action in ACTIONS.items():
        print(f"{name}: {told(action)}")
    print(len(launched) == before, flush=True)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
launch()
wp.synchronize()
"""


def test_a_forked_child_of_a_process_that_uses_a_gpu(tmp_path: Path) -> None:
    """It waits for nothing, as it has given nothing to a GPU, and is refused what it would give."""
    out = _printed(GPU, tmp_path)
    lines = dict(line.split(": ") for line in out.splitlines()[1:-1])
    assert {name for name, outcome in lines.items() if outcome == "done"} == {
        "everything", "a timer", "the CPU", "devices", "a scope of the CPU",
        "the end of a scope", "the CPU again",
    }  # fmt: skip
    assert set(lines.values()) == {"done", "H0809"}
    assert len(lines) == 25
    assert (out.splitlines()[0], out.splitlines()[-1]) == ("True True", "True")
