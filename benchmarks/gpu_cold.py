"""From source to result on a GPU: a small kernel, thirty at once, thirty from the cache.

    python benchmarks/gpu_cold.py

Each number is of a process of its own with an empty kernel cache, but the last, whose process finds
the kernels of the one before.  CUDA has started and a first kernel has run before the clock does.
"""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import heald as wp

COUNT = 30
DEVICE = "cuda:0"
FILE = "<gpu_cold>"


def source() -> str:
    """Thirty kernels, no two alike."""
    parts = ["import heald as wp\n"]
    for k in range(COUNT):
        parts.append(
            f"""
@wp.kernel
def k{k}(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = {k}.5
    for j in range({k % 4 + 1}):
        if i + j < n:
            s += x[i + j] * {k + 1}.25
    y[i] = s * s + {k}.0
"""
        )
    return "".join(parts)


def load() -> dict[str, Any]:
    """The kernels by name."""
    text = source()
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    names: dict[str, Any] = {"__name__": "gpu_cold_kernels"}
    exec(compile(text, FILE, "exec"), names)
    return names


def check(k: int, y: Any) -> None:
    """Is it what kernel ``k`` makes of ones?"""
    s = k + 0.5 + (k % 4 + 1) * (k + 1.25)
    assert abs(float(y[0]) - (s * s + k)) < 1e-3 * (s * s + k), (k, y[0])


def measure(what: str) -> float:
    """Milliseconds, in this process."""

    @wp.kernel
    def first(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    n = 1000
    with wp.ScopedDevice(DEVICE):
        x, y = wp.zeros(n, dtype=float), wp.zeros(n, dtype=float)
        wp.launch(first, dim=n, inputs=[x])
        assert x.numpy()[5] == 1.0
        names = load()
        start = time.perf_counter()
        if what == "small":
            wp.launch(names["k7"], dim=n, inputs=[x, y, n])
            check(7, y.numpy())
        else:
            wp.load_module("gpu_cold_kernels")
            for k in range(COUNT):
                wp.launch(names[f"k{k}"], dim=n, inputs=[x, y, n])
            check(COUNT - 1, y.numpy())
        return (time.perf_counter() - start) * 1e3


def figures() -> dict[str, float]:
    """All numbers, in milliseconds."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for label, what, cache in (
            ("second kernel, to its result, ms", "small", "small"),
            ("30 kernels loaded and launched, ms", "many", "many"),
            ("30 kernels from the cache, ms", "many", "many"),
        ):
            environment = {
                **os.environ,
                "CUDA_CACHE_DISABLE": "1",  # the driver keeps what it compiles, too
                "HEALD_CACHE_DIR": os.path.join(folder, cache),
            }
            done = subprocess.run(
                [sys.executable, __file__, what],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(done.stderr)
            found[label] = float(done.stdout)
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(measure(sys.argv[1]))
    else:
        print(json.dumps(figures(), indent=2))
