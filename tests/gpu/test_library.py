"""Every builtin and dtype: a GPU gives the bits of a CPU, which are those of the simulator."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from library.instances import Instance
from library.samples import arguments
from library.test_devices import _bits, array, batches, kernel_for

import heald as wp

pytestmark = pytest.mark.gpu
COUNT = 4000


@pytest.mark.parametrize("batch", batches(), ids=lambda batch: str(batch[0]))
def test_a_gpu_gives_the_bits_of_a_cpu(batch: tuple[Instance, ...]) -> None:
    rng = np.random.default_rng(zlib.crc32(str(batch[0]).encode()))
    columns = [arguments(i.overload, i.types, COUNT, rng) for i in batch]
    kernel = kernel_for(batch)
    results = {}
    for device in ("cpu", "cuda:0"):
        inputs, outputs = [], []
        for instance, given in zip(batch, columns, strict=True):
            inputs += [array(t, c, device) for t, c in zip(instance.types, given, strict=True)]
            outputs.append(wp.zeros(COUNT, dtype=instance.result, device=device))
            inputs.append(outputs[-1])
        wp.launch(kernel, dim=COUNT, inputs=inputs, device=device)
        results[device] = [y.numpy() for y in outputs]
    for instance, one, two in zip(batch, results["cpu"], results["cuda:0"], strict=True):
        equal = np.array_equal(_bits(one), _bits(two))
        assert equal, f"{instance}: {np.count_nonzero(_bits(one) != _bits(two))} differ"
