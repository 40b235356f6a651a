"""What a launch costs beyond the kernel itself.

``python -m benchmarks.launch`` prints a table.  Times are of the processor, for the launching
thread alone, so that the load of the machine does not decide; the best and the median of many
repeats are shown.  The kernel alone is the same compiled code, called from compiled code.  Every
way to launch is checked before it is timed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heald as wp
from heald.api import launch as launching
from heald.artifact import abi
from heald.codegen import compile_object, has_entries, host_target
from heald.codegen.jit import load_object

THREADS = 16
FIGURES = {"wp.launch": 1000.0, "Launch.launch": 300.0}
"""Nanoseconds beyond the kernel that the two ways may cost."""

REPEAT = """
define void @repeat(ptr %code, ptr %header, ptr %args, i64 %total, i64 %count) {
entry:
  br label %again
again:
  %k = phi i64 [ 0, %entry ], [ %next, %again ]
  call void %code(ptr %header, ptr %args, i64 0, i64 %total)
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %again, label %done
done:
  ret void
}
"""


@wp.kernel
def total_of_seven(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    d: wp.array(dtype=float),
    e: wp.array(dtype=float),
    f: wp.array(dtype=float),
    g: wp.array(dtype=float),
    out: wp.array(dtype=float),
) -> None:
    """Eight arrays, one sum."""
    i = wp.tid()
    out[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i]


@wp.struct
class Scale:
    """By how much, and from where."""

    factor: wp.float32
    offset: wp.vec3


@wp.kernel
def with_struct(a: wp.array(dtype=float), out: wp.array(dtype=float), scale: Scale) -> None:
    """Two arrays and a struct."""
    i = wp.tid()
    out[i] = a[i] * scale.factor + scale.offset.y


@wp.kernel
def with_numbers(
    a: wp.array(dtype=float), out: wp.array(dtype=float), x: float, y: float, n: int, flag: wp.bool
) -> None:
    """Two arrays, four numbers."""
    i = wp.tid()
    if flag and i < n:
        out[i] = a[i] * x + y


def main() -> None:
    """Measure, print, and write the numbers where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    rows = measure()
    kernel = rows["kernel alone"][0]
    print(f"{'nanoseconds of the thread':44s}{'best':>9s}{'median':>9s}")
    for name, (best, median) in rows.items():
        print(f"{name:44s}{best:9.0f}{median:9.0f}")
    print()
    for name, limit in FIGURES.items():
        best, median = (t - kernel for t in rows[f"{name}, 8 arrays"])
        verdict = "pass" if best <= limit else "FAIL"
        print(f"{verdict}  {name} over the kernel: {best:.0f} (median {median:.0f}) of {limit:.0f}")
    if not has_entries():
        print("this interpreter has no launch entries: everything takes the careful path")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def measure() -> dict[str, tuple[float, float]]:
    """Best and median nanoseconds of each way to launch."""
    xs = [wp.array(np.arange(THREADS) + 10.0 * k, dtype=float) for k in range(7)]
    out = wp.zeros(THREADS)
    arrays = [*xs, out]
    expected = np.sum([x.numpy() for x in xs], axis=0)
    command = wp.launch(total_of_seven, THREADS, arrays, record_cmd=True)
    scaled, scale = wp.zeros(THREADS), Scale(factor=2.0, offset=wp.vec3(0.0, 0.5, 0.0))
    ways: dict[str, Callable[[], Any]] = {
        "empty lambda": lambda: None,
        "wp.launch, 8 arrays": lambda: wp.launch(total_of_seven, THREADS, inputs=arrays),
        "wp.launch, 8 arrays, a new list": lambda: wp.launch(
            total_of_seven, dim=THREADS, inputs=[*xs], outputs=[out], device="cpu"
        ),
        "wp.launch, 2 arrays and 4 numbers": lambda: wp.launch(
            with_numbers, THREADS, [xs[0], scaled, 2.0, 0.5, THREADS, True]
        ),
        "wp.launch, 2 arrays and a struct": lambda: wp.launch(
            with_struct, THREADS, [xs[0], scaled, scale]
        ),
        "Launch.launch, 8 arrays": command.launch,
        "careful path, 8 arrays": lambda: launching._launch(
            total_of_seven, THREADS, arrays, (), None, 256, False
        ),
    }
    for name, way in ways.items():
        out.zero_()
        scaled.zero_()
        for _ in range(3):
            way()
        if "8 arrays" in name:
            assert (out.numpy() == expected).all(), name
        if "numbers" in name or "struct" in name:
            assert (scaled.numpy() == 2 * xs[0].numpy() + 0.5).all(), name
    rows = {"kernel alone": time_kernel(arrays, out, expected)}
    for name, way in ways.items():
        rows[name] = time_call(way, 20_000 if "arrays" in name and "path" not in name else 500)
    return rows


def time_call(way: Callable[[], Any], number: int) -> tuple[float, float]:
    """Best and median nanoseconds of a call, over 25 repeats."""
    times = timeit.repeat(way, number=number, repeat=25, timer=time.thread_time)
    return min(times) / number * 1e9, statistics.median(times) / number * 1e9


def time_kernel(arrays: list[wp.array], out: wp.array, expected: Any) -> tuple[float, float]:
    """Nanoseconds of the code that these launches run, called from compiled code."""
    (program,) = total_of_seven.programs()
    variant = list(program.compiled().values())[-1]
    text = host_target().header + REPEAT
    (address,), _keep = load_object(compile_object(text, host_target()), ["repeat"])
    repeat = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(address)
    block = (ctypes.c_int64 * 24)(*[w for a in arrays for w in (a.ptr, a.shape[0], a.strides[0])])
    header = (ctypes.c_int64 * (abi.HEADER_SIZE // 8))(THREADS, 1, 1, 1, 256)
    fault = (ctypes.c_int64 * (abi.FAULT_SIZE // 8))()
    header[abi.HEADER_FAULT // 8] = ctypes.addressof(fault)
    at = ctypes.addressof(header), ctypes.addressof(block)
    out.zero_()
    repeat(variant.code.address, *at, THREADS, 1)
    assert (out.numpy() == expected).all()
    count = 100_000
    best, median = time_call(lambda: repeat(variant.code.address, *at, THREADS, count), 1)
    return best / count, median / count


if __name__ == "__main__":
    main()
