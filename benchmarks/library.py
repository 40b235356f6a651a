"""``--suite library``: builtins mapped over arrays, against the C library, libmvec and Warp.

``python -m benchmarks.run --suite library`` writes the report.  All is done on one core, but for
the figures that say how much faster more of them are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import heald as wp
from benchmarks import kernels
from benchmarks.cpu import CPP, FAST, OURS, Bench
from benchmarks.figures import Duration, Reading, Speed, Work
from benchmarks.timing import Local, Way

MANY = "heald, all threads"
OF_A_CORE = 0.6
"""What each further core must add."""


@dataclass(frozen=True, slots=True)
class Map:
    """A float32 function to map over an array.

    Attributes:
        reference: computes it in float64.
        ranges: of its arguments, uniform.
        scalar: how much faster than the scalar function of the C library it must be.
        vector: its speed as a part of that of libmvec's.
    """

    reference: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...]
    scalar: float = 3.0
    vector: float = 0.8


MAPS: Mapping[str, Map] = {
    "sin": Map(np.sin, ((-100, 100),)),
    "cos": Map(np.cos, ((-100, 100),)),
    "tan": Map(np.tan, ((-1.5, 1.5),)),
    "asin": Map(np.arcsin, ((-1, 1),)),
    "acos": Map(np.arccos, ((-1, 1),)),
    "atan": Map(np.arctan, ((-10, 10),)),
    "atan2": Map(np.arctan2, ((-5, 5), (-5, 5))),
    "sinh": Map(np.sinh, ((-5, 5),)),
    "cosh": Map(np.cosh, ((-5, 5),)),
    "tanh": Map(np.tanh, ((-5, 5),)),
    "exp": Map(np.exp, ((-10, 5),)),
    "exp2": Map(np.exp2, ((-10, 5),)),
    "log": Map(np.log, ((1e-3, 1e3),), vector=0.5),
    "log2": Map(np.log2, ((1e-3, 1e3),)),
    "log10": Map(np.log10, ((1e-3, 1e3),)),
    "pow": Map(np.power, ((0.1, 10), (-3, 3)), scalar=2.0),
    "erf": Map(np.vectorize(math.erf, otypes="d"), ((-4, 4),)),
    "erfc": Map(np.vectorize(math.erfc, otypes="d"), ((-4, 8),)),
    "cbrt": Map(np.cbrt, ((-1e3, 1e3),)),
}


def mapped(bench: Bench, name: str) -> Work:
    """``y[i] = f(x[i])`` on one core."""
    case = MAPS[name]
    n = bench.pick(1 << 22, 1 << 20, 1000)
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(*limits, n).astype(np.float32) for limits in case.ranges]
    arrays, out = [wp.array(x) for x in inputs], wp.zeros(n)
    kernel = wp.map(getattr(wp, name), *arrays, out=out, return_kernel=True)
    views = [a.numpy() for a in (*arrays, out)]
    ways: dict[str, Way] = {
        OURS: bench.launching(kernel, n, [*arrays, out], out, threads=1),
        **_one_core(bench, bench.compiled(f"map_{name}", out, n, *views)),
    }
    readings = (Speed(OURS, CPP, case.scalar), Speed(OURS, FAST, case.vector), Duration(OURS))
    expected = case.reference(*(x.astype(np.float64) for x in inputs))
    return Work(ways, expected, readings, reset=out.zero_, relative=3e-7)


def _one_core(bench: Bench, ways: Mapping[str, Way]) -> dict[str, Way]:
    """The same ways of C++ in one thread."""
    found: dict[str, Way] = {}
    for name, way in ways.items():
        assert isinstance(way, Local)
        assert bench.cpp is not None
        before = partial(bench.cpp.set_threads, 1)
        found[name] = replace(way, before=before, threads=1)
    return found


def inverse33(bench: Bench) -> Work:
    """The inverse of a 3x3 matrix for each thread."""
    n = bench.pick(1 << 18, 1 << 16, 500)
    a = _matrices(n)
    matrices, out = wp.array(a, dtype=wp.mat33), wp.zeros(n, dtype=wp.mat33)
    expected = np.linalg.inv(a.astype(np.float64))
    inputs = [matrices, out]
    return _against_warp(bench, kernels.inverse33, "inverse33", inputs, out.numpy, expected)


def svd33(bench: Bench) -> Work:
    """The singular values and both rotations of a 3x3 matrix for each thread; the check looks at
    the sorted values, as to which signs and order are free."""
    n = bench.pick(1 << 16, 1 << 14, 500)
    a = _matrices(n)
    matrices, sigma = wp.array(a, dtype=wp.mat33), wp.zeros(n, dtype=wp.vec3)
    rotations = [wp.zeros(n, dtype=wp.mat33) for _ in range(2)]
    expected = np.linalg.svd(a.astype(np.float64), compute_uv=False)[:, ::-1]
    inputs = [matrices, *rotations, sigma]

    def found() -> Any:
        return np.sort(np.abs(sigma.numpy()), axis=1)

    return _against_warp(bench, kernels.svd33, "svd33", inputs, found, expected)


def _matrices(n: int) -> Any:
    values = np.random.default_rng(1).uniform(-0.3, 0.3, (n, 3, 3)) + np.eye(3)
    return values.astype(np.float32)


def _against_warp(
    bench: Bench,
    kernel: Any,
    case: str,
    inputs: list[Any],
    result: Callable[[], Any],
    expected: Any,
) -> Work:
    n = len(expected)
    launching = partial(bench.launching, kernel, n, inputs, inputs[-1])
    ways: dict[str, Way] = {
        OURS: replace(launching(threads=1), output=result),
        MANY: replace(launching(), output=result),
        **bench.remote("warp", case, {"a": inputs[0].numpy()}),
    }
    readings: tuple[Reading, ...] = (Speed(OURS, "warp", 1.2), Duration(OURS))
    if bench.threads > 1:
        readings += (Speed(MANY, OURS, 1 + OF_A_CORE * (bench.threads - 1)),)
    return Work(ways, expected, readings, reset=inputs[-1].zero_, relative=1e-4)


CASES: Mapping[str, Callable[[Bench], Work]] = {
    **{name: partial(mapped, name=name) for name in MAPS},
    "inverse33": inverse33,
    "svd33": svd33,
}
