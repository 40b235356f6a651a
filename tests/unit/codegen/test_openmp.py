"""The launcher: who runs what, the state of workers, forks, and which runtime is taken."""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.codegen.harness import LAUNCHER, Launch, Make, compiled
from unit.codegen.test_jit import FLUSHING

from heald.codegen import compile_object, host_target, openmp, parallel_launcher
from heald.codegen.jit import load_object
from heald.ir import Kernel
from heald.types import Array, f32, i32

ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture
def launcher() -> int:
    address = parallel_launcher()
    if address is None:
        pytest.skip("no OpenMP runtime")
    return address


pytestmark = pytest.mark.cpu


def count_kernel() -> Kernel:
    """``count[t] += 1`` and ``where[t] = column`` on a grid of rows of 7."""
    m = Make(count=Array(i32, 2), where=Array(i32, 2))
    i, j = m.tid(0), m.tid(1)
    m.atomic("add", m.count, i, j, m.const(i32, 1))
    m.store(m.where, i, j, j)
    return m.done(2)


@pytest.mark.parametrize("cores", [0, 1, 2, 3, 7, 64])
def test_every_thread_runs_once(launcher: int, cores: int) -> None:
    kernel = count_kernel()
    for rows in (0, 1, 2, 5, 150, 3001):
        count, where = np.zeros((rows, 7), np.int32), np.zeros((rows, 7), np.int32)
        launch = Launch(kernel, (rows, 7), (count, where))
        launch.share(launcher, cores)
        assert (count == 1).all(), rows
        assert (where == np.arange(7)).all()


def ranges_entry() -> tuple[int, object]:
    """An entry that notes in ``args[lo]`` where its range ends."""
    text = (
        host_target().header
        + """
define void @note(ptr %header, ptr %args, i64 %lo, i64 %hi) {
  %p = getelementptr i64, ptr %args, i64 %lo
  store i64 %hi, ptr %p
  ret void
}
"""
    )
    (address,), code = load_object(compile_object(text, host_target()), ["note"])
    return address, code


def ranges(launcher: int, total: int, cores: int, grain: int = 0) -> list[tuple[int, int]]:
    """The ranges that the members of a team ran, in order."""
    entry, _code = ranges_entry()
    ends = np.zeros(total + 1, np.int64)
    LAUNCHER(launcher)(entry, 0, ends.ctypes.data, total, cores, grain)
    return [(int(lo), int(ends[lo])) for lo in np.flatnonzero(ends)]


@pytest.mark.parametrize("total", [3, 100, 5000, 1_000_003])
def test_shares_are_even_and_begin_at_whole_vectors(launcher: int, total: int) -> None:
    found = ranges(launcher, total, 3)
    ends = [hi for _, hi in found]
    assert [0, *ends[:-1]] == [lo for lo, _ in found]
    assert ends[-1] == total
    sizes = [hi - lo for lo, hi in found]
    assert max(sizes) - min(sizes) <= 1 + 2 * 64 * (total > 3000)
    assert len(found) == 3
    if total > 5000:
        assert all(lo % 64 == 0 for lo, _ in found)


@pytest.mark.parametrize("grain", [1, 16, 64])
@pytest.mark.parametrize("total", [3, 100, 5000, 1_000_003])
def test_pieces_of_uneven_launches_are_many_whole_grains(
    launcher: int, total: int, grain: int
) -> None:
    found = ranges(launcher, total, 3, grain)
    ends = [hi for _, hi in found]
    assert [0, *ends[:-1]] == [lo for lo, _ in found]
    assert ends[-1] == total
    assert len({hi - lo for lo, hi in found[:-1]}) <= 1
    assert all(lo % grain == 0 for lo, _ in found)
    assert len(found) >= min(3 * 16, total // grain) // 2


def test_a_core_that_has_much_to_do_does_not_hold_up_the_rest(launcher: int) -> None:
    rest, done = 10_000 - 312, threading.Event()
    counted: list[int] = []

    @ENTRY
    def entry(header: int, args: int, lo: int, hi: int) -> None:
        if lo == 0:
            counted.append(done.wait(20))
            return
        counted.append(hi - lo)
        if sum(counted) == rest:
            done.set()

    LAUNCHER(launcher)(ctypes.cast(entry, ctypes.c_void_p), 0, 0, 10_000, 2, 1)
    assert sorted(counted)[0] == 1  # who ran the first piece saw all others run
    assert sum(counted) == rest + 1


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_every_thread_of_an_uneven_launch_runs_once(launcher: int, cores: int) -> None:
    kernel = count_kernel()
    for rows in (0, 1, 2, 5, 150, 3001):
        count, where = np.zeros((rows, 7), np.int32), np.zeros((rows, 7), np.int32)
        launch = Launch(kernel, (rows, 7), (count, where))
        launch.share(launcher, cores, 16)
        assert (count == 1).all(), rows
        assert (where == np.arange(7)).all()


def fake_provider(calls: list[Any], **more: Any) -> tuple[openmp.Provider, list[Any]]:
    """A runtime of one thread that notes how it is called."""

    def parallel(function: int, context: int, cores: int, flags: int) -> None:
        calls.append(("team", cores))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(context)

    functions = {
        "GOMP_parallel": ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int32] * 2)(
            parallel
        ),
        "omp_get_thread_num": ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: 0),
        "omp_get_num_threads": ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: 1),
        **more,
    }
    symbols = {n: ctypes.cast(f, ctypes.c_void_p).value or 0 for n, f in functions.items()}
    return openmp.Provider("fake", symbols, True, False), list(functions.values())


@pytest.mark.parametrize("grain", [0, 8])
def test_workers_of_llvm_sleep_after_our_teams_only(
    monkeypatch: pytest.MonkeyPatch, grain: int
) -> None:
    for name in ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    calls: list[Any] = []
    provider, _kept = fake_provider(
        calls,
        kmp_get_blocktime=ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: 200),
        kmp_set_blocktime=ctypes.CFUNCTYPE(None, ctypes.c_int32)(calls.append),
    )
    state = openmp._State()
    state.start(provider)
    assert state.address is not None
    assert ranges(state.address, 1000, 4, grain)[-1][1] == 1000
    assert calls == [0, ("team", 4), 200]
    monkeypatch.setenv("KMP_BLOCKTIME", "50")  # the user chose
    calls.clear()
    state = openmp._State()
    state.start(provider)
    assert state.address is not None
    assert ranges(state.address, 1000, 4, grain)[-1][1] == 1000
    assert calls == [("team", 4)]


def test_a_runtime_without_that_setting_is_called_as_it_is() -> None:
    calls: list[Any] = []
    provider, _kept = fake_provider(calls)
    state = openmp._State()
    state.start(provider)
    assert state.address is not None
    assert ranges(state.address, 1000, 4)[-1][1] == 1000
    assert calls == [("team", 4)]


def test_results_do_not_depend_on_the_number_of_cores(launcher: int) -> None:
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    x = m.load(m.x, i)
    m.store(m.y, i, m.op("fdiv", m.op("fsqrt", x), m.op("fadd", x, m.const(f32, 0.1))))
    kernel = m.done()
    x = np.random.default_rng(0).random(10_000).astype(np.float32)
    outputs = []
    for cores in (1, 2, 5):
        y = np.zeros_like(x)
        Launch(kernel, (len(x),), (x, y)).share(launcher, cores)
        outputs.append(y.tobytes())
    assert outputs[0] == outputs[1] == outputs[2]
    assert np.frombuffer(outputs[0], np.float32)[0] == np.sqrt(x[0]) / (x[0] + np.float32(0.1))


def test_workers_keep_subnormals_whatever_was_done_to_their_state(launcher: int) -> None:
    text = (
        host_target().header
        + """
define void @hostile(ptr %state, ptr %args, i64 %lo, i64 %hi) {
  call void @llvm.x86.sse.ldmxcsr(ptr %state)
  ret void
}
"""
    )
    (hostile,), _code = load_object(compile_object(text, host_target()), ["hostile"])
    m = Make(x=Array(f32, 1), y=Array(f32, 1))
    i = m.tid()
    m.store(m.y, i, m.op("fmul", m.load(m.x, i), m.const(f32, 0.5)))
    x, y = np.full(4000, 3e-39, np.float32), np.zeros(4000, np.float32)
    launch = Launch(m.done(), (4000,), (x, y))
    compiled(launch.kernel)
    expected = (x * np.float32(0.5)).tobytes()  # before anything is flushed here
    for state in (FLUSHING, 0x1F80):  # in the end, put the team and this thread right
        word = ctypes.c_uint32(state)
        LAUNCHER(launcher)(hostile, ctypes.addressof(word), 0, 4000, 4, 0)
        launch.share(launcher, 4)
        assert y.tobytes() == expected
        y[:] = np.float32(1)


def test_several_python_threads_may_launch_at_once(launcher: int) -> None:
    kernel = count_kernel()
    counts = [np.zeros((500, 7), np.int32) for _ in range(4)]
    launches = [Launch(kernel, (500, 7), (c, np.zeros_like(c))) for c in counts]
    compiled(kernel)

    def work(launch: Launch) -> None:
        for _ in range(25):
            launch.share(launcher, 2)

    threads = [threading.Thread(target=work, args=(launch,)) for launch in launches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((c == 25).all() for c in counts)


def in_new_process(script: str, **environment: str) -> str:
    """What a script prints, run with the tests' modules at hand."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FORKING = """
import os
import numpy as np
from heald.codegen import parallel_launcher
from unit.codegen.harness import Launch
from unit.codegen.test_openmp import count_kernel

kernel = count_kernel()

def launch():
    count = np.zeros((900, 7), np.int32)
    address = parallel_launcher()
    if address is None:
        return True
    Launch(kernel, (900, 7), (count, count.copy())).share(address, 3)
    return bool((count == 1).all())

if BEFORE:
    assert launch()
child = os.fork()
if child == 0:
    os._exit(0 if launch() and launch() else 1)
_, status = os.waitpid(child, 0)
print(status, launch())
"""


@pytest.mark.parametrize("before", [True, False])
def test_a_forked_child_does_not_hang(launcher: int, before: bool) -> None:
    script = FORKING.replace("BEFORE", str(before))
    assert in_new_process(script).split() == ["0", "True"]


SETTINGS = """
import os
from heald.codegen import openmp
seen = []
open_ = openmp._open
def spy(name, **options):
    seen.append((os.environ.get("OMP_WAIT_POLICY"), os.environ.get("KMP_BLOCKTIME")))
    return open_(name, **options)
openmp._open = spy
openmp.parallel_launcher()
print(seen[-1], os.environ.get("OMP_WAIT_POLICY"), os.environ.get("KMP_BLOCKTIME"))
"""


def test_idle_workers_sleep_unless_the_user_chose(launcher: int) -> None:
    assert in_new_process(SETTINGS) == "('passive', '0') None None\n"
    assert in_new_process(SETTINGS, OMP_WAIT_POLICY="active") == "('active', None) active None\n"
    assert in_new_process(SETTINGS, GOMP_SPINCOUNT="5") == "(None, None) None None\n"


def test_a_runtime_of_the_process_is_taken_first(launcher: int) -> None:
    mapped = openmp.mapped_runtimes()
    provider = openmp.find_provider()
    assert provider is not None
    assert provider.path == mapped[0]
    assert not provider.is_fresh
    assert all(provider.symbols.values())


def test_runtimes_are_known_by_their_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["/a/libgomp.so.1.0.0", "/t/libgomp-a34b3233.so.1", "/x/libomp.so", "/i/libiomp5.so"]
    others = ["/b/libcomposite.so", "/c/libompi.so.3", "/d/libgomp.txt", "/e/mylibomp.so"]
    maps = "".join(f"7f00-7f01 r-xp 0 08:01 1 {path}\n" for path in files + others)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: maps)
    assert openmp.mapped_runtimes() == [files[3], files[2], files[0], files[1]]


def test_without_a_runtime_there_is_no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmp, "mapped_runtimes", lambda: ["/nowhere/libgomp.so.1"])
    monkeypatch.setattr(openmp, "_INSTALLED", ("libheald-has-no-such.so", "libc.so.6"))
    assert openmp.find_provider() is None
    monkeypatch.setattr(openmp, "_STATE", openmp._State())
    assert parallel_launcher() is None


def test_the_launcher_is_made_once(launcher: int) -> None:
    assert parallel_launcher() == launcher


COMPILING = """
import os, threading
import numpy as np
from heald.codegen import build, host_target, load
from unit.codegen.harness import Launch
from unit.codegen.test_openmp import count_kernel

kernel, stop = count_kernel(), threading.Event()

def work():
    while not stop.is_set():
        load(build(kernel, host_target()))

thread = threading.Thread(target=work)
thread.start()
statuses = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        count = np.zeros((3, 7), np.int32)
        Launch(count_kernel(), (3, 7), (count, count.copy())).run()
        os._exit(0 if (count == 1).all() else 1)
    statuses.append(os.waitpid(child, 0)[1])
stop.set()
thread.join()
print(statuses)
"""


def test_a_child_forked_while_another_thread_compiles_can_compile() -> None:
    assert in_new_process(COMPILING) == f"{[0] * 8}\n"
