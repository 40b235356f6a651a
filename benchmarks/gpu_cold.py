"""From source to result on a GPU: small kernels, thirty at once, thirty from the cache.

    python -m benchmarks.gpu_cold [heald | warp | warp-forward | nvrtc]

Each number is the median of some processes of their own, which have an empty kernel cache, but for
the last: there they find the kernels of those before.  Each runs on the eight cores that are the
quickest when it starts, and of the processes, as of the small kernels that each compiles one after
the other, the half counts that others on the machine disturb less.  Library and CUDA have started
and a first kernel has run before the clock does.  warp-lang compiles the same text, with the
backward kernels that it makes by default and without; NVRTC compiles the same kernels in CUDA C one
after the other, through CuPy.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import linecache
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks.cores import beside_loop, quiet

COUNT = 30
ROUNDS = 5
CORES = 8
ALONE = range(5, 14)
"""Small kernels that are compiled one after the other."""
DEVICE = "cuda:0"
N = 1000
SMALL, MANY, CACHED = (
    "small kernel in a warm process, to its result",
    "30 kernels loaded and launched",
    "30 kernels from the cache",
)
PACKAGES = {"heald": "heald", "warp": "warp", "warp-forward": "warp", "nvrtc": "cupy"}
"""Who compiles, and the package that it needs."""

FIRST = """
@wp.kernel
def first(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0
"""
FIRST_C = 'extern "C" __global__ void first(float* x) { x[threadIdx.x] = 1.0f; }'


def python_source(k: int) -> str:
    """A kernel that is like no other."""
    return f"""
@wp.kernel
def k{k}(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float({k}.5)
    for j in range({k % 4 + 1}):
        if i + j < n:
            s += x[i + j] * {k + 1}.25
    y[i] = s * s + {k}.0
"""


def c_source(k: int) -> str:
    """The same in CUDA C."""
    return f"""
extern "C" __global__ void k{k}(const float* __restrict__ x, float* __restrict__ y, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = {k}.5f;
  for (int j = 0; j < {k % 4 + 1}; j++)
    if (i + j < n) s += x[i + j] * {k + 1}.25f;
  y[i] = s * s + {k}.0f;
}}
"""


def load(library: str, text: str, module: str) -> dict[str, Any]:
    """The kernels of a text by name, as those of a module."""
    file = f"<{module}>"
    text = f"import {library} as wp\n{text}"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": module}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def check(k: int, y: Any) -> None:
    """Is it what kernel ``k`` makes of ones?"""
    s = k + 0.5 + (k % 4 + 1) * (k + 1.25)
    assert abs(float(y[0]) - (s * s + k)) < 1e-3 * (s * s + k), (k, y[0])


def measure(library: str, numbers: Sequence[int], device: str = DEVICE) -> tuple[float, float]:
    """Milliseconds for kernels of one module, in this process, by Heald or by warp-lang, behind the
    seconds of the loop (``cores.beside_loop``)."""
    wp = importlib.import_module(library)
    with _warm(wp, device) as (x, y):
        text = "".join(map(python_source, numbers))
        names = load(library, text, "gpu_cold_kernels")

        def take() -> float:
            start = time.perf_counter()
            wp.load_module("gpu_cold_kernels", device=device)
            for k in numbers:
                wp.launch(names[f"k{k}"], dim=N, inputs=[x, y, N])
            check(numbers[-1], y.numpy())
            return (time.perf_counter() - start) * 1e3

        return beside_loop(take)


def measure_alone(
    library: str, numbers: Sequence[int], device: str = DEVICE
) -> tuple[float, float]:
    """The same of a kernel that is alone in its module."""
    wp = importlib.import_module(library)
    with _warm(wp, device) as (x, y):

        def take(k: int) -> float:
            kernel = load(library, python_source(k), f"gpu_cold_{k}")[f"k{k}"]
            start = time.perf_counter()
            wp.launch(kernel, dim=N, inputs=[x, y, N])
            check(k, y.numpy())
            return (time.perf_counter() - start) * 1e3

        return _each(take, numbers)


def _each(take: Callable[[int], float], numbers: Sequence[int]) -> tuple[float, float]:
    pairs = [beside_loop(partial(take, k)) for k in numbers]
    return min(pairs)[0], _usual(pairs)


@contextmanager
def _warm(wp: Any, device: str) -> Iterator[tuple[Any, Any]]:
    """A library that has run a kernel, and two arrays."""
    wp.init()
    with wp.ScopedDevice(device):
        x, y = wp.zeros(N, dtype=float), wp.zeros(N, dtype=float)
        wp.launch(load(wp.__name__, FIRST, "gpu_cold_first")["first"], dim=N, inputs=[x])
        assert x.numpy()[5] == 1.0
        yield x, y


def measure_c(numbers: Sequence[int], *, alone: bool = False) -> tuple[float, float]:
    """The same by NVRTC."""
    cupy, np = importlib.import_module("cupy"), importlib.import_module("numpy")

    def compiled(text: str, name: str) -> Any:
        return cupy.RawModule(code=text, backend="nvrtc").get_function(name)

    x, y = cupy.zeros(N, dtype=np.float32), cupy.zeros(N, dtype=np.float32)
    compiled(FIRST_C, "first")((1,), (N,), (x,))
    assert x.get()[5] == 1.0

    def take(*some: int) -> float:
        texts = [c_source(k) for k in some]
        start = time.perf_counter()
        for k, text in zip(some, texts, strict=True):
            compiled(text, f"k{k}")(((N + 255) // 256,), (256,), (x, y, np.int32(N)))
        check(some[-1], y.get())
        return (time.perf_counter() - start) * 1e3

    return _each(take, numbers) if alone else beside_loop(partial(take, *numbers))


def figures(who: str = "heald", rounds: int = ROUNDS) -> dict[str, float]:
    """All numbers, in milliseconds: medians of the less disturbed half of some rounds, in each of
    which kernels come from the cache twice."""
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for label, pair in _round(who):
            found.setdefault(label, []).append(pair)
    return {label: _usual(pairs) for label, pairs in found.items()}


def _usual(pairs: list[tuple[float, float]]) -> float:
    return statistics.median(value for _, value in sorted(pairs)[: (len(pairs) + 1) // 2])


def _round(who: str) -> Iterator[tuple[str, tuple[float, float]]]:
    """What each process says: how long the loop took beside it, and milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        cached = [] if who == "nvrtc" else [(CACHED, "many")] * 2
        for label, what in ((SMALL, "small"), (MANY, "many"), *cached):
            environment = {
                **os.environ,
                "CUDA_CACHE_DISABLE": "1",  # the driver keeps what it compiles, too
                "CUPY_CACHE_IN_MEMORY": "1",
                "HEALD_CACHE_DIR": os.path.join(folder, what),
            }
            command = [sys.executable, "-m", "benchmarks.gpu_cold", who, what]
            with quiet(CORES):
                done = subprocess.run(
                    [*command, os.path.join(folder, what)],
                    env=environment, capture_output=True, text=True, check=False, timeout=180,
                )  # fmt: skip
            if done.returncode:
                raise RuntimeError((done.stderr or done.stdout)[-1500:])
            loop, value = done.stdout.split()[-2:]
            yield label, (float(loop), float(value))


def is_here(who: str) -> bool:
    """Is the package there that it takes?"""
    return importlib.util.find_spec(PACKAGES[who]) is not None


def main(who: str, what: str = "", cache: str = "") -> None:
    """Print the numbers of ``who``; as a process of its own, seconds of
    the loop and one number."""
    alone = what == "small"
    numbers = ALONE if alone else range(COUNT)
    if not what:
        print(json.dumps(figures(who), indent=2))
    elif who == "nvrtc":
        print(*measure_c(numbers, alone=alone))
    else:
        if PACKAGES[who] == "warp":
            warp: Any = importlib.import_module("warp")
            warp.config.log_level = warp.LOG_WARNING
            warp.config.kernel_cache_dir = cache
            warp.config.enable_backward = who == "warp"
        print(*(measure_alone if alone else measure)(PACKAGES[who], numbers))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["heald"]))
