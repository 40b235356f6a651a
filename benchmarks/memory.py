"""Memory of kernels: what one costs while it lives, and what it leaves when it is gone.

``python -m benchmarks.memory`` prints a table of slopes of the resident set over hundreds of
kernels, each compiled for one variant in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SCRIPT = """
import gc, sys
import numpy as np
import heald as wp

def make(gain, name):
    @wp.kernel(name=name, module="made")
    def k(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        i = wp.tid()
        x = a[i] * gain
        total = 0.0
        for j in range(8):
            total = total + x * float(j)
        if total > 3.0:
            total = total - 1.0
        b[i] = total + x
    return k

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4

mode, count = sys.argv[1], int(sys.argv[2])
x = np.linspace(0.0, 1.0, 64, dtype=np.float32)
a, b = wp.array(x), wp.zeros(64)
kept = []

def run(first, last):
    for n in range(first, last):
        gain = 1.0 + n / 1024
        k = make(gain, f"k{n}" if mode == "live" else "k")
        wp.launch(k, dim=64, inputs=[a, b])
        y = np.float32(gain) * x
        s = y * 28
        assert np.allclose(b.numpy(), np.where(s > 3, s - 1, s) + y, rtol=1e-5), n
        if mode == "live":
            kept.append(k)

run(0, 60)
before = resident()
run(60, 60 + count)
print((resident() - before) / count)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; sizes in KiB a kernel."""

    name: str
    mode: str
    is_cached: bool
    limit: float


ROWS = (
    Row("a live kernel", "live", False, 64.0),
    Row("a live kernel from the cache", "live", True, 64.0),
    Row("an evicted kernel", "evicted", False, 12.0),
    Row("an evicted kernel from the cache", "evicted", True, 12.0),
)


def measure(folder: Path, row: Row, count: int) -> float:
    """KiB a kernel.

    Raises:
        CalledProcessError: the process failed, or a kernel gave wrong results.
    """
    script = folder / "kernels.py"
    script.write_text(SCRIPT, encoding="utf-8")
    cache = folder / row.mode if row.is_cached else ""
    environment = {**os.environ, "HEALD_CACHE_DIR": str(cache)}
    for _ in range(2 if row.is_cached else 1):
        done = subprocess.run(
            [sys.executable, str(script), row.mode, str(count)],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
    return float(done.stdout)


def main() -> int:
    """Print the table; 1 where a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="kernels of each row")
    count = parser.parse_args().count
    worst = 0
    print(f"{'KiB a kernel':36}{'':>8}{'limit':>8}")
    with tempfile.TemporaryDirectory(prefix="heald-memory-") as folder:
        for row in ROWS:
            size = measure(Path(folder), row, count)
            worst |= size > row.limit
            verdict = "ok" if size <= row.limit else "MISSED"
            print(f"{row.name:36}{size:8.1f}{row.limit:8.0f}  {verdict}", flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
