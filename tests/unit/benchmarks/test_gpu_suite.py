"""The cases of ``--suite gpu`` on the CPU, with a clock that shows one and a numpy for a CuPy.

Nothing here looks at a time: what is tested is that every figure comes, that results of peers are
compared, and that a peer that is absent, fails or is wrong costs its own figures only.
"""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))  # benchmarks is no part of the package

import heald as wp
from benchmarks import gpu, gpu_cold, gpu_kernels, gpu_peers, gpu_tests, gpu_timing, gpu_warp
from benchmarks.gpu_timing import MissingError

pytestmark = pytest.mark.cpu
ROOT = Path(__file__).parents[3]

COLD = {gpu_cold.SMALL: 1.0, gpu_cold.MANY: 2.0, gpu_cold.CACHED: 3.0}
DRIVER = {"non_blocking_us": 0.25, "blocking_us": 0.5, "graph_ms": 0.75}
OWN = {
    "launch": {"4 arrays", "recorded, 4 arrays", "graph of 1000, 4 arrays"},
    "cold": {*COLD},
    "stream": {"c = a + b", "time guarded / proved", "sums of blocks", "sin(x) exp(x)"},
    "stencil": {"512^2"},
    "nbody": {"1024"},
    "sum": {"integers, by atomics", "floats, warp_reduce=True"},
    "table": {"one place", "any place"},
    "algorithms": {"65536 int32"},
    "sph": {"frame of 10 steps", "hash grid of 4000", "hash grid and density"},
}
WARP = {
    "launch": {f"{name}, warp-lang" for name in OWN["launch"]},
    "stream": {"c = a + b, warp-lang"},
    "stencil": {"heald / warp-lang"},
    "nbody": {"heald / warp-lang"},
    "sum": {"heald / warp-lang, int_sum", "heald / warp-lang, float_sum"},
    "sph": {"hash grid of 4000, warp-lang", "heald / warp-lang, grid and density"},
}
CUDA = {
    "launch": {"graph of 1000, CUDA C"},
    "stream": {"heald / read bandwidth"},
    "stencil": {"heald / CUDA C"},
    "nbody": {"heald / CUDA C", "heald / CUDA C -ftz=true"},
    "sum": {"CUDA C, atomicAdd"},
    "table": {
        f"{where} place, CUDA C with {memory} memory"
        for where in ("one", "any")
        for memory in ("constant", "global")
    },
    "algorithms": {"heald / CUB"},
}


def once(run, *_args, **_more):
    run()
    return 1.0


class Array(np.ndarray):
    """An array that is "on the device"."""

    def get(self):
        return np.array(self)


def on_device(data, **_more):
    return np.asarray(data.numpy() if isinstance(data, wp.array) else data).view(Array)


class FakePeers:
    """Kernels of CUDA C in numpy; ``error`` is what their results are wrong by."""

    def __init__(self, error=0.0):
        self.error = error
        self.versions = {"cupy": "none"}
        self.cupy = SimpleNamespace(
            asarray=on_device,
            zeros=lambda *a, **k: np.zeros(*a, **k).view(Array),
            ones=np.ones,
            cumsum=lambda a, dtype: np.cumsum(a, dtype=dtype) + np.int32(error),
            argsort=lambda a: np.argsort(a)[:: -1 if error else 1],
            float32=np.float32,
            ndarray=lambda _n, _type, memory: memory,
        )
        self.constants = np.zeros(1024, np.float32)

    def variable(self, name):
        assert name == "table"
        return self.constants

    def milliseconds(self, run, _repeats):
        return once(run)

    def graph_milliseconds(self, name, args):
        assert name == "four"
        assert len(args) == 5
        return 1.0

    def read(self, _count, _processors):
        return {"CUDA C": 0.9, "torch.sum": 0.5}

    def best(self, name, launches, args, _repeats, *_flags):
        assert launches
        getattr(self, name)(*args)
        return 1.0

    def stencil(self, u, out, _n, _m):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        middle = u[1:-1, 1:-1]
        out[1:-1, 1:-1] = middle + np.float32(0.1) * (around - 4 * middle) + self.error

    def nbody(self, p, out, _n):
        for i in range(0, len(p), 256):
            d = p[None, :] - p[i : i + 256, None]
            w = (np.square(d).sum(axis=2) + np.float32(0.01)) ** -1.5
            out[i : i + 256] = (d * w[:, :, None]).sum(axis=1) + self.error

    nbody_fast = nbody

    def total(self, x, out, _n):
        out[0] += x.sum()

    def look_up_constant(self, x, out, _n):
        self.look_up_global(x, out, _n, self.constants)

    def look_up_global(self, x, out, _n, table):
        out[:] = sum(table[(x + k) & 1023] for k in range(64)) + self.error


class FakeOthers:
    """Peers that are there, are not, or fail."""

    def __init__(self, cuda, warp):
        self._found = {"cuda": cuda, "warp": warp}

    def __getattr__(self, name):
        found = self._found[name]
        if isinstance(found, Exception):
            raise found
        return found


class Processors:
    """Heald, but that the device has two processors."""

    def __getattr__(self, name):
        return getattr(wp, name)

    def get_device(self, _device):
        return SimpleNamespace(sm_count=2, arch=90)


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch):
    for module in (gpu, gpu_timing, gpu_warp):
        monkeypatch.setattr(module, "DEVICE", "cpu")
    monkeypatch.setattr(gpu, "wp", Processors())
    monkeypatch.setattr(gpu, "milliseconds", once)
    monkeypatch.setattr(gpu, "graph_milliseconds", lambda *_: 1.0)
    monkeypatch.setattr(gpu_warp, "submission", once)
    monkeypatch.setattr(gpu_warp, "graph_milliseconds", lambda *_: 1.0)
    monkeypatch.setattr(gpu, "driver_costs", lambda _arch: DRIVER)
    monkeypatch.setitem(sys.modules, "heald_again", wp)


@pytest.fixture
def cold(monkeypatch):
    monkeypatch.setattr(gpu_cold, "figures", lambda _who="heald", _rounds=3: COLD)
    monkeypatch.setattr(gpu_cold, "is_here", lambda who: who != "nvrtc")


def taken(case, others):
    return list(gpu.CASES[case]("tiny", others))


def chosen(figures, names):
    found = [f for f in figures if f.name in names]
    assert {f.name for f in found} == names
    return found


@pytest.mark.parametrize("case", [case for case in gpu.CASES if case != "cold"])
def test_case_gives_its_figures(case):
    """The other library is Heald once more, with kernels built from the same text."""
    figures = taken(case, FakeOthers(FakePeers(), gpu_warp.Side("heald_again")))
    names = OWN[case] | WARP.get(case, set()) | CUDA.get(case, set())
    for figure in chosen(figures, names):
        assert figure.value is not None, figure.note
        assert figure.value > 0
    assert all(f.verdict != "skip" for f in figures)


@pytest.mark.parametrize("case", ["launch", "stream", "stencil", "sum"])
def test_what_is_not_here_is_skipped_with_the_reason(case):
    missing = FakeOthers(MissingError("no CuPy"), MissingError("no warp-lang"))
    figures = taken(case, missing)
    for figure in chosen(figures, CUDA[case]):
        assert (figure.verdict, figure.note) == ("skip", "no CuPy")
    for figure in chosen(figures, WARP[case]):
        assert (figure.verdict, figure.note) == ("skip", "no warp-lang")
    assert all(f.value is not None for f in chosen(figures, OWN[case]))


@pytest.mark.parametrize("case", ["launch", "stream", "stencil", "sum"])
def test_what_fails_costs_its_own_figures_only(case, capsys):
    figures = taken(case, FakeOthers(ValueError("broken"), FakePeers()))
    for figure in chosen(figures, CUDA[case]):
        assert (figure.verdict, figure.note) == ("skip", "ValueError: broken")
    for figure in chosen(figures, WARP[case]):
        assert figure.verdict == "skip"
        assert figure.note.startswith(("AttributeError", "TypeError"))
    assert all(f.value is not None for f in chosen(figures, OWN[case]))
    assert "broken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("case", "skips"), [("stencil", 1), ("nbody", 4), ("table", 4), ("algorithms", 2)]
)
def test_a_wrong_result_of_a_peer_is_not_timed(case, skips, capsys):
    figures = taken(case, FakeOthers(FakePeers(error=1e3), MissingError("no warp-lang")))
    wrong = [f for f in chosen(figures, CUDA[case]) if f.verdict == "skip"]
    assert len(wrong) == skips
    assert all(f.note.startswith("AssertionError") for f in wrong)
    assert "Mismatched elements" in capsys.readouterr().err


def test_limits_of_the_peers():
    others = FakeOthers(FakePeers(), gpu_warp.Side("heald_again"))
    figures = {f.name: f for case in ("stream", "stencil") for f in taken(case, others)}
    assert figures["heald / read bandwidth"].limit == 0.9
    assert figures["heald / read bandwidth"].value == 0.5  # of the faster one
    assert figures["heald / read bandwidth"].verdict == "FAIL"
    assert figures["heald / CUDA C"].verdict == "pass"
    assert figures["heald / warp-lang"].verdict == ""


def test_launches_are_compared_with_the_driver_alone():
    figures = {f.name: f for f in taken("launch", FakeOthers(*[MissingError("")] * 2))}
    assert figures["the driver alone, from C"].value == 0.25
    assert figures["4 arrays - driver"].value == 0.75
    assert figures["recorded, 4 arrays - driver"].value == 0.75
    assert figures["graph of 1000, 4 arrays - driver"].value == 0.25


def test_the_driver_is_asked_three_times(monkeypatch):
    answers = iter(['{"us": 4.0, "ms": 1.0}', '{"us": 9.0, "ms": 0.5}', '{"us": 3.0, "ms": 2.0}'])
    monkeypatch.setattr(gpu_peers, "compile_c", lambda *_: None)
    monkeypatch.setattr(gpu_peers, "_output", lambda _: next(answers))
    assert gpu_peers.driver_costs(90) == {"us": 4.0, "ms": 1.0}


def test_a_driver_that_cannot_be_built_is_skipped(monkeypatch):
    monkeypatch.setattr(gpu_peers.shutil, "which", lambda _: None)
    monkeypatch.setattr(gpu, "driver_costs", gpu_peers.driver_costs)
    (figure,) = gpu.from_c({"4 arrays": 1.0})
    assert (figure.verdict, figure.note) == ("skip", "nvcc is not installed")


@pytest.mark.usefixtures("cold")
def test_cold_starts_of_everybody():
    figures = taken("cold", FakeOthers(MissingError(""), MissingError("")))
    assert [f.value for f in chosen(figures, OWN["cold"])] == [1.0, 2.0, 3.0]
    assert [f.limit for f in chosen(figures, OWN["cold"])] == [60.0, 800.0, 100.0]
    for called in ("warp-lang", "warp-lang without backward"):
        assert len(chosen(figures, {f"{name}, {called}" for name in COLD})) == 3
        (ratio,) = chosen(figures, {f"30 kernels, heald / {called}"})
        assert (ratio.value, ratio.limit) == (1.0, None)
    for nvrtc in chosen(figures, {"NVRTC", "30 kernels, heald / NVRTC"}):
        assert (nvrtc.verdict, nvrtc.note) == ("skip", "cupy is not installed")
    (ratio,) = chosen(figures, {"30 kernels, heald / NVRTC"})
    assert ratio.limit == 1.2


def test_cold_kernels_are_right():
    for measure in (gpu_cold.measure, gpu_cold.measure_alone):
        loop, value = measure("heald_again", [0, 1, 3], "cpu")
        assert loop > 0
        assert value > 0


def test_cold_processes_have_empty_caches(monkeypatch):
    runs = []

    def run(command, env, **_more):
        runs.append((command[-3:], env))
        assert not Path(command[-1]).exists()
        loop = 0.9 if len(runs) == 3 else 0.1  # somebody was on its core
        return SimpleNamespace(returncode=0, stdout=f"noise\n{loop} {len(runs)}.5\n", stderr="")

    monkeypatch.setattr(gpu_cold.subprocess, "run", run)
    assert gpu_cold.figures("warp", 1) == dict(zip(COLD, (1.5, 2.5, 4.5), strict=True))
    caches = [command[-1] for command, _ in runs]
    assert caches[0] != caches[1] == caches[2] == caches[3]
    kinds = ("small", "many", "many", "many")
    assert [command[:2] for command, _ in runs] == [["warp", kind] for kind in kinds]
    assert all(env["CUDA_CACHE_DISABLE"] == env["CUPY_CACHE_IN_MEMORY"] == "1" for _, env in runs)
    assert list(gpu_cold.figures("nvrtc", 1)) == [gpu_cold.SMALL, gpu_cold.MANY]
    runs.clear()
    wanted = (5.5, 6.5, 8.5)  # of 1.5, 5.5 and 9.5; of 2.5, 6.5 and 10.5; of 4.5 to 12.5
    assert gpu_cold.figures("heald") == dict(zip(COLD, wanted, strict=True))


def test_a_cold_process_that_fails_says_why(monkeypatch):
    failed = SimpleNamespace(returncode=1, stdout="", stderr="no such GPU")
    monkeypatch.setattr(gpu_cold.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="no such GPU"):
        gpu_cold.figures("heald")


def test_cold_kernels_in_c_have_the_same_numbers():
    for k in range(gpu_cold.COUNT):
        python, c = gpu_cold.python_source(k), gpu_cold.c_source(k)
        for number in (f"{k}.5", f"{k + 1}.25", f"{k}.0"):
            assert number in python
            assert f"{number}f" in c
        assert f"range({k % 4 + 1})" in python
        assert f"j < {k % 4 + 1};" in c


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_sources_in_c_compile(tmp_path):
    cold = tmp_path / "cold.cu"
    cold.write_text(gpu_cold.FIRST_C + "".join(map(gpu_cold.c_source, range(gpu_cold.COUNT))))
    gpu_peers.compile_c(str(cold), str(tmp_path / "cold.cubin"), 90, "-cubin")
    gpu_peers.compile_c(str(gpu_peers.DRIVER), str(tmp_path / "driver"), 90)
    peers = gpu_peers.Peers.__new__(gpu_peers.Peers)
    device = SimpleNamespace(compute_capability="90")
    peers.cupy = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: device), RawModule=Loaded)
    peers._folder, peers._modules = SimpleNamespace(name=str(tmp_path)), {}
    plain, flushing = peers.kernel("nbody"), peers.kernel("nbody", "-ftz=true")
    assert plain != flushing
    assert peers.kernel("nbody_fast") == plain
    assert peers.variable("table") == plain


class Loaded:
    """A module of which each name is what was in its file."""

    def __init__(self, path):
        self.data = Path(path).read_bytes()

    def get_function(self, name):
        assert name.encode() in self.data
        return self.data

    get_global = get_function


def test_what_does_not_compile_says_why(tmp_path):
    (tmp_path / "wrong.cu").write_text("nonsense")
    if shutil.which("nvcc") is None:
        reason = pytest.raises(MissingError, match="nvcc is not installed")
    else:
        reason = pytest.raises(RuntimeError, match=r"nvcc: (.|\n)*nonsense")
    with reason:
        gpu_peers.compile_c(str(tmp_path / "wrong.cu"), str(tmp_path / "x"), 90, "-cubin")


def test_peers_say_why_they_are_not_here(monkeypatch):
    monkeypatch.setattr(gpu_peers.importlib, "import_module", _no_module)
    monkeypatch.setattr(gpu_warp.importlib.util, "find_spec", lambda _: None)
    found = gpu.Others().versions()
    assert found == {
        "CUDA C": "CuPy is not here: there is none",
        "warp-lang": "warp-lang is not installed",
    }


def _no_module(_name):
    raise ImportError("there is none")


def test_the_text_is_built_with_the_other_library():
    made = gpu_warp.kernels("heald_again")
    assert made["wp"] is wp
    assert made["add"] is not gpu_kernels.add
    assert gpu_warp.kernels("heald")["add"] is gpu_kernels.add
    kinds = {name for name, value in made.items() if isinstance(value, wp.Kernel)}
    assert kinds == {"add", "four", "stencil", "nbody", "int_sum", "float_sum", "density"}


def test_warp_lang_computes_the_same():
    """Where it is installed: on the CPU, as no GPU is needed for the language."""
    warp = pytest.importorskip("warp")
    warp.config.log_level = warp.LOG_WARNING
    random = np.random.default_rng(0)
    u, p = (random.random(shape, dtype=np.float32) for shape in ((32, 32), (64, 3)))
    made = []
    for library in ("heald", "warp"):
        side = gpu_warp.Side(library)
        side.small()
        ways = (side.add(8), side.stencil(u), side.nbody(p), side.neighbours(p, 0.5)[1])
        for way in ways:
            way.run()
        made.append([way.result() for way in ways])
    for own, other in zip(*made, strict=True):
        np.testing.assert_allclose(other, own, rtol=1e-5, atol=1e-5)


def test_every_test_that_needs_a_gpu_is_run():
    found = ROOT.glob("tests/**/test_*.py")
    marked = {path for path in found if "pytest.mark.gpu" in path.read_text(encoding="utf-8")}
    marked -= {ROOT / "tests/unit/test_project.py", Path(__file__)}  # they only speak of the mark
    run = [ROOT / place for place in gpu_tests.TESTS]
    assert [path for path in marked if not any(path.is_relative_to(place) for place in run)] == []
    assert all(any(path.is_relative_to(place) for path in marked) for place in run)
