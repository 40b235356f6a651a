"""The same kernels, run by NVIDIA Warp and by Heald on random arguments.

Warp is no dependency: without it the test is skipped.  What differs on purpose is in
``docs/differences.md``.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

NDArray = npt.NDArray[Any]

SOURCE = Path(__file__).with_name("shared_kernels.py")

# Of each result: its first column, and how far both may be apart.
RANDOM = {
    "noise": (0, 2e-6),
    "pnoise": (4, 2e-6),
    "curlnoise": (8, 5e-6),
    "poisson": (16, 0.0),
    "state of poisson": (18, 0.0),
    "": (19, 0.0),
}
MATH = {
    "erf": (0, 2e-7),
    "erfc": (1, 3e-7),
    "erfinv": (2, 5e-7),
    "erfcinv": (3, 5e-7),
    "cbrt": (4, 2e-7),
    "norm_l1": (5, 3e-7),
    "norm_l2": (6, 3e-7),
    "norm_huber": (7, 3e-7),
    "norm_pseudo_huber": (8, 3e-7),
    "smooth_normalize": (9, 3e-7),
    "quat_from_euler": (12, 5e-7),
    "quat_to_euler": (16, 1e-4),
    "quat_to_rpy": (19, 1e-4),
    "proper quat_to_euler": (22, 1e-4),
    "quat_twist": (25, 2e-6),
    "quat_twist_angle": (29, 5e-6),
    "quat_twist_angle_signed": (30, 5e-6),
    "spatial_cross": (31, 1e-6),
    "spatial_cross_dual": (37, 1e-6),
    "transform_twist": (43, 3e-6),
    "transform_wrench": (49, 3e-6),
    "spatial_dot": (55, 2e-6),
    "velocity_at_point": (56, 1e-6),
    "transform_compose": (59, 2e-6),
    "transform_to_matrix": (75, 2e-6),
    "translation of transform_from_matrix": (91, 0.0),
    "rotation of transform_from_matrix, up to its sign": (94, 3e-6),
    "closest_point_edge_edge": (98, 1e-5),
    "intersect_tri_tri": (101, 0.0),
    "bit_count": (102, 0.0),
    "sigma of svd3": (103, 1e-5),
    "R of qr3": (106, 1e-5),
    "sigma of svd2": (115, 1e-4),
    "spatial_adjoint": (117, 0.0),
    "": (153, 0.0),
}


def load(module: str, folder: Path) -> Any:
    path = folder / f"kernels_of_{module}.py"
    path.write_text(SOURCE.read_text().replace("import heald as wp", f"import {module} as wp"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def results_of(module: str, folder: Path) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng(5)
    kernels = load(module, folder)
    wp = kernels.wp
    count = 300

    def on_device(values: NDArray, dtype: Any) -> Any:
        return wp.array(values, dtype=dtype, device="cpu")

    states = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    points = rng.uniform(-9, 9, (count, 4)).astype(np.float32)
    periods = rng.integers(1, 7, count).astype(np.int32)
    numbers = rng.uniform(-1, 1, (count, 16)).astype(np.float32)
    first = wp.zeros((count, RANDOM[""][0]), dtype=wp.float32, device="cpu")
    second = wp.zeros((count, MATH[""][0]), dtype=wp.float32, device="cpu")
    inputs = [on_device(states, wp.uint32), on_device(points, wp.vec4)]
    inputs += [on_device(periods, wp.int32), first]
    wp.launch(kernels.random, dim=count, inputs=inputs, device="cpu")
    inputs = [on_device(numbers, wp.float32), second]
    wp.launch(kernels.mathematics, dim=count, inputs=inputs, device="cpu")
    wp.launch(kernels.shapes, dim=count, inputs=inputs, device="cpu")
    return first.numpy(), second.numpy()


@pytest.mark.cpu
def test_results_are_those_of_warp(tmp_path: Path) -> None:
    pytest.importorskip("warp")
    pairs = zip(results_of("warp", tmp_path), results_of("heald", tmp_path), strict=True)
    for (warp, heald), columns in zip(pairs, (RANDOM, MATH), strict=True):
        ends = list(columns.values())[1:]
        for (name, (start, bound)), (end, _) in zip(columns.items(), ends, strict=False):
            a, b = warp[:, start:end], heald[:, start:end]
            difference = np.abs(a - b).max(axis=1)
            if "sign" in name:
                difference = np.minimum(difference, np.abs(a + b).max(axis=1))
            assert difference.max() <= bound, f"{name}: {difference.max()}"
