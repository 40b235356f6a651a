"""The blocks that a launch on a GPU becomes, and those that no GPU runs (H0706)."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from errors.everyday.checks import refused
from fake_cuda import Fake, fake_gpu
from unit.runtime.test_queue import Told

from heald.runtime.cuda import launch_cuda, register, streams
from heald.runtime.cuda.launch import MOST_BLOCKS


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Blocks, and threads of each, of the launches that a driver was given."""
    found: list[tuple[int, int]] = []

    def launched(_: Fake, config: bytes, *rest: Any) -> None:
        blocks, _, _, threads, *_ = struct.unpack_from("<7I", config)
        found.append((blocks, threads))

    monkeypatch.setattr(Fake, "cuLaunchKernelEx", launched, raising=False)
    return found


def start(dims: tuple[int, ...], block_dim: int, *, most: int = 1024, meet: bool = True) -> None:
    """Launch a kernel of which a GPU runs ``most`` threads of a block, which may ``meet``."""
    _, gpu = fake_gpu()
    kernel: Any = SimpleNamespace(
        block_size=0, formats={}, blocks=meet, lanes=None, rank=1, sites={}
    )
    code: Any = SimpleNamespace(function=1, threads=most, least=1, early=0)
    source = register(Told("one"))
    launch_cuda(streams.Stream.default(gpu), code, kernel, source, b"", dims, block_dim)


def test_a_kernel_that_needs_many_registers(started: list[tuple[int, int]]) -> None:
    """Threads that meet have to run together; others run in smaller blocks."""
    start((2048,), 512, most=512)
    start((2048,), 1024, most=512, meet=False)
    assert started == [(4, 512), (4, 512)]
    said = "blocks of 1024 threads", "so many registers that a GPU runs 512 of its threads"
    with refused("H0706", *said, remedy="use block_dim=512"):
        start((2048,), 1024, most=512)
    assert len(started) == 2, "nothing has run"


@pytest.mark.parametrize("block_dim", [1, 256])
def test_more_blocks_than_a_grid_has(started: list[tuple[int, int]], block_dim: int) -> None:
    most = MOST_BLOCKS * block_dim
    start((most,), block_dim)
    assert started == [(MOST_BLOCKS, block_dim)]
    with refused("H0706", f"{most + 1:,} threads", "2,147,483,648 blocks", remedy="larger blocks"):
        start((most + 1,), block_dim)
    with refused("H0706", "more than the 2,147,483,647 of a GPU", remedy="fewer threads"):
        start((1 << 20, 1 << 20), block_dim)
    assert len(started) == 1, "nothing has run"
