"""Resource handles at the level of host classes."""

import numpy as np
import pytest

import heald as wp
from heald.api import resources


def test_arrays_whose_extent_kernels_could_not_read_are_refused():
    cpu = wp.get_device("cpu")
    big = wp.array(np.broadcast_to(np.int32(1), (1 << 31,)), copy=False)
    with pytest.raises(wp.LaunchError, match="H0711"):
        resources.register(cpu, 9, [], [big])
    handle = resources.register(cpu, 9, [], [big[: (1 << 31) - 1]])
    with pytest.raises(wp.LaunchError, match="H0711"):
        resources.describe(handle, [], [big])
    resources.release(cpu, handle)
