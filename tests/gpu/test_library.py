"""Every builtin and dtype: a GPU gives the bits of a CPU, which are those of the simulator."""

from __future__ import annotations

import pytest
from library.instances import Instance
from library.test_devices import batches, compare

pytestmark = pytest.mark.gpu
COUNT = 4000


@pytest.mark.parametrize("batch", batches(), ids=lambda batch: str(batch[0]))
def test_a_gpu_gives_the_bits_of_a_cpu(batch: tuple[Instance, ...]) -> None:
    compare(batch, "cpu", "cuda:0", COUNT)
