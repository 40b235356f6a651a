"""Random kernels whose threads work together leave the same bits on every device."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blocks.sources import SHARED, Source

import heald as wp

FIRST = int(os.environ.get("HEALD_MEANING_SEED", "0"))
COUNT = int(os.environ.get("HEALD_BLOCK_KERNELS", "12"))


def load(path: Path, seed: int, *, automatic: bool = False) -> Any:
    path.write_text(Source(seed, automatic=automatic).text(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"random_blocks_{seed}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def leave(kernel: Any, device: str, seed: int) -> list[bytes]:
    """What a launch with a last block that is not full leaves; each NaN is like the other."""
    random = np.random.default_rng(seed)
    size = int(random.choice([8, 32, 40, SHARED]))
    count = int(random.integers(1, 4 * size))
    v = random.integers(-20, 60, count).astype(np.int32)
    w = random.random(count, dtype=np.float32)
    arrays = [wp.array(v, dtype=int, device=device), wp.array(w, dtype=float, device=device)]
    wp.launch(kernel, dim=count, inputs=arrays, device=device, block_dim=size)
    left, floats = (a.numpy() for a in arrays)
    return [left.tobytes(), np.where(np.isnan(floats), np.float32(np.nan), floats).tobytes()]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_the_same_bits(seed: int, device: str, tmp_path: Path) -> None:
    kernel = load(tmp_path / f"random_blocks_{seed}.py", seed)
    assert leave(kernel, device, seed) == leave(kernel, "sim", seed)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_barriers_that_the_compiler_places(seed: int, device: str, tmp_path: Path) -> None:
    """The simulator would notice one that is missing."""
    kernel = load(tmp_path / f"automatic_blocks_{seed}.py", seed, automatic=True)
    assert leave(kernel, device, seed) == leave(kernel, "sim", seed)
