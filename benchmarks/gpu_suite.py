"""Everything that needs a GPU, in one run: the tests marked ``gpu`` and a few figures.

    python benchmarks/gpu_suite.py out.json [--commit HASH] [--workers N]

Writes device, driver, date, commit, counts of tests and the figures.  The result that is shown in
the documentation is ``benchmarks/results/gpu.json``.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu_cold
import numpy as np

import heald as wp
from heald.driver.variants import Choice
from heald.runtime import packer_of
from heald.runtime.cuda import driver_version, gpu_of

ROOT = Path(__file__).parent.parent
STREAM = 1 << 28
HEADER = struct.Struct("<4qi4xQQQ")
TESTS = ("tests/gpu", "tests/blocks", "tests/unit/ops/test_lower_gpu.py")
DEVICE = "cuda:0"


@wp.kernel
def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    """One sum a thread: 12 bytes."""
    i = wp.tid()
    c[i] = a[i] + b[i]


@wp.kernel
def block_sums(x: wp.array(dtype=wp.vec4), sums: wp.array(dtype=float)):
    """The sum of each block's share: 16 bytes a step of a thread."""
    total = wp.vec4(0.0, 0.0, 0.0, 0.0)
    for k in range(wp.tid(), x.shape[0], sums.shape[0] * wp.block_dim()):
        total += x[k]
    y = wp.reduce_sum((total[0] + total[1]) + (total[2] + total[3]))
    if wp.thread_index() == 0:
        sums[wp.block_index()] = y


@wp.kernel
def waves(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """Exact transcendental functions."""
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(x[i])


@wp.kernel
def four(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    d: wp.array(dtype=float),
):
    """Four arrays."""
    i = wp.tid()
    d[i] = a[i] + b[i] * c[i]


@wp.kernel
def nothing(n: int):
    """What a launch costs the GPU."""


def microseconds(run: Callable[[], object], count: int = 500) -> float:
    """The median time of giving a launch to the GPU, over rounds that do not fill its queue."""
    times = []
    for _ in range(20):
        run()
        wp.synchronize(DEVICE)
        start = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - start) / count)
    wp.synchronize(DEVICE)
    return statistics.median(times) * 1e6


def graph_milliseconds(kernel: wp.Kernel, inputs: list[object], launches: int = 1000) -> float:
    """The median time of a captured graph, from its launch to its end."""
    with wp.ScopedCapture(DEVICE) as capture:
        for _ in range(launches):
            wp.launch(kernel, dim=32, inputs=inputs, device=DEVICE)
    times = []
    for _ in range(22):
        wp.synchronize(DEVICE)
        start = time.perf_counter()
        wp.capture_launch(capture.graph)
        wp.synchronize_stream(DEVICE)
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:]) * 1e3


def figures() -> dict[str, float]:
    """Wall times of compiling and launching, times of the GPU for what kernels do."""
    with wp.ScopedDevice(DEVICE):
        small = [wp.ones(32, dtype=float) for _ in range(4)]
        for _ in range(4):
            wp.launch(four, dim=32, inputs=small)
        launch = microseconds(lambda: wp.launch(four, dim=32, inputs=small[:3], outputs=small[3:]))
        recorded = microseconds(wp.launch(four, dim=32, inputs=small, record_cmd=True).launch)
        graph = graph_milliseconds(four, [*small])
        empty = graph_milliseconds(nothing, [1])
        arrays = [wp.ones(STREAM, dtype=float) for _ in range(3)]
        x = wp.array(np.linspace(-3.0, 3.0, 1 << 22, dtype=np.float32))
        wp.launch(add, dim=STREAM, inputs=arrays)
        assert float(arrays[2][STREAM - 1]) == 2.0
        stream = on_the_gpu(add, STREAM, arrays, Choice(bounds=True, unit=True))
        guarded = on_the_gpu(add, STREAM, arrays, Choice())
        wave = on_the_gpu(waves, 1 << 22, [x, wp.empty_like(x)], Choice(bounds=True, unit=True))
        blocks = 4 * gpu_of(wp.get_device(DEVICE)).processors
        summed = [wp.ones(STREAM // 4, dtype=wp.vec4), wp.empty(blocks, dtype=float)]
        wp.launch(block_sums, dim=256 * blocks, inputs=summed)
        assert summed[1].numpy().sum() == STREAM
        sums = on_the_gpu(block_sums, 256 * blocks, summed, Choice(bounds=True, unit=True))
    return {
        **gpu_cold.figures(),
        "launch of 4 arrays, us": launch,
        "recorded launch of 4 arrays, us": recorded,
        "graph of 1000 launches of 4 arrays, ms": graph,
        "graph of 1000 empty launches, ms": empty,
        "c = a + b over 2^28, GB/s": 12 * STREAM / stream / 1e6,
        "the same with all guards, GB/s": 12 * STREAM / guarded / 1e6,
        "sums of blocks over 2^28, GB/s": 4 * STREAM / sums / 1e6,
        "sin(x) exp(x) over 2^22, Gelem/s": (1 << 22) / wave / 1e6,
    }


def on_the_gpu(kernel: wp.Kernel, count: int, arrays: list[wp.array], choice: Choice) -> float:
    """Milliseconds of one kernel by events of the GPU, the median of runs of 10 launches."""
    device = wp.get_device(DEVICE)
    variant = kernel.program(kernel.concrete_types()).gpu_variant(choice, device)
    words = [word for a in arrays for word in (a.address, *a.shape, *a.strides)]
    block = HEADER.pack(count, 1, 1, 1, 256, 0, 0, 0) + packer_of(variant.artifact).pack(words)
    memory = ctypes.create_string_buffer(block, len(block))
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    grid = [ctypes.c_uint(n) for n in (-(-count // 256), 1, 1, 256, 1, 1, 0)]
    function = ctypes.c_void_p(variant.code.function)
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    times = []
    with gpu_of(device).active() as call:
        for event in events:
            call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        for _ in range(12):
            call("cuEventRecord", events[0], None)
            for _ in range(10):
                call("cuLaunchKernel", function, *grid, None, parameters, None)
            call("cuEventRecord", events[1], None)
            call("cuEventSynchronize", events[1])
            elapsed = ctypes.c_float()
            call("cuEventElapsedTime", ctypes.byref(elapsed), *events)
            times.append(elapsed.value / 10)
    return statistics.median(times[2:])


def run_tests(workers: int) -> tuple[dict[str, int], list[str]]:
    """Counts, and the names of tests that failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", *TESTS, "-n", str(workers)]
        options = [f"--junitxml={report}", "-o", "filterwarnings=default", "--tb=short"]
        subprocess.run(command + options, cwd=ROOT, check=False)
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    kinds = {"failure": "failed", "error": "failed", "skipped": "skipped"}
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failed = []
    for case in cases:
        (kind,) = {kinds[c.tag] for c in case if c.tag in kinds} or {"passed"}
        counts[kind] += 1
        if kind == "failed":
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    return counts, failed


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--workers", type=int, default=8)
    given = parser.parse_args()
    gpu = gpu_of(wp.get_device(DEVICE))
    result: dict[str, Any] = {
        "device": gpu.device.name,
        "compute capability": "{}.{}".format(*gpu.capability),
        "driver": driver_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": given.commit,
    }
    result["figures"] = {name: round(value, 2) for name, value in figures().items()}
    print(json.dumps(result, indent=2), flush=True)
    result["tests"], result["failed"] = run_tests(given.workers)
    given.output.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
