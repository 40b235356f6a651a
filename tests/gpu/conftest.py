"""What a test of a GPU leaves behind is not told to the next one."""

import contextlib
from collections.abc import Iterator

import pytest

import heald as wp


@pytest.fixture(autouse=True)
def nothing_pending() -> Iterator[None]:
    """Take what launches of a test that failed have left."""
    yield
    with contextlib.suppress(wp.KernelFault):
        wp.synchronize()
