"""Two GPUs."""

from __future__ import annotations

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import DeviceError, LaunchError

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("wp.get_cuda_device_count() < 2", reason="needs two GPUs"),
]


@wp.kernel
def relax(x: wp.array(dtype=wp.float32), left: float, right: float, y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    n = x.shape[0]
    a = left
    if i > 0:
        a = x[i - 1]
    b = right
    if i < n - 1:
        b = x[i + 1]
    y[i] = 0.5 * (a + b)


def test_arrays_go_from_one_to_the_other() -> None:
    a = wp.array(np.arange(1 << 20, dtype=np.float32), device="cuda:0")
    b = wp.empty(1 << 20, device="cuda:1")
    wp.copy(b, a)
    np.testing.assert_array_equal(b.numpy(), np.arange(1 << 20))
    c = b.to("cuda:0")
    assert c.device == "cuda:0"
    np.testing.assert_array_equal(c.numpy(), np.arange(1 << 20))
    for _ in range(20):  # what is written next must not reach the copy
        wp.copy(b, a)
        a.fill_(-1.0)
        wp.copy(a, c)
    np.testing.assert_array_equal(b.numpy(), np.arange(1 << 20))


def test_two_devices_work_on_one_problem() -> None:
    n, steps = 1000, 40
    whole = np.random.default_rng(1).normal(size=2 * n).astype(np.float32)
    devices = ("cuda:0", "cuda:1")
    parts = [wp.array(whole[k * n : k * n + n], device=d) for k, d in enumerate(devices)]
    for _ in range(steps):
        edges = (float(parts[0][n - 1]), float(parts[1][0]))
        made = []
        for k, d in enumerate(devices):
            y = wp.empty(n, device=d)
            ends = (0.0, edges[1]) if k == 0 else (edges[0], 0.0)
            wp.launch(relax, dim=n, inputs=[parts[k], *ends, y], device=d)
            made.append(y)
        parts = made
    found = np.concatenate([part.numpy() for part in parts])
    x, y = wp.array(whole, device="cpu"), wp.empty(2 * n, device="cpu")
    for _ in range(steps):
        wp.launch(relax, dim=2 * n, inputs=[x, 0.0, 0.0, y], device="cpu")
        x, y = y, x
    np.testing.assert_array_equal(found, x.numpy())


def test_access_between_peers() -> None:
    assert wp.is_peer_access_supported("cuda:0", "cuda:0")
    if not wp.is_peer_access_supported("cuda:0", "cuda:1"):
        pytest.skip("these GPUs cannot reach each other")
    wp.set_peer_access_enabled("cuda:0", "cuda:1", True)
    assert wp.is_peer_access_enabled("cuda:0", "cuda:1")
    a = wp.ones(1000, device="cuda:0")
    assert a.to("cuda:1").numpy().sum() == 1000
    wp.set_peer_access_enabled("cuda:0", "cuda:1", False)
    assert not wp.is_peer_access_enabled("cuda:0", "cuda:1")
    with wp.ScopedPeerAccess("cuda:0", "cuda:1", True):
        assert wp.is_mempool_access_enabled("cuda:0", "cuda:1")
        assert a.to("cuda:1").numpy().sum() == 1000
    assert not wp.is_mempool_access_enabled("cuda:0", "cuda:1")
    assert a.to("cuda:1").numpy().sum() == 1000


def test_what_belongs_to_another_device_is_refused() -> None:
    a = wp.zeros(3, device="cuda:0")
    with pytest.raises(LaunchError) as caught:
        wp.launch(relax, dim=3, inputs=[a, 0.0, 0.0, a], device="cuda:1")
    assert caught.value.codes == ("H0704",)
    stream = wp.Stream("cuda:1")
    with pytest.raises(DeviceError) as refused:
        wp.launch(relax, dim=3, inputs=[a, 0.0, 0.0, a], device="cuda:0", stream=stream)
    assert refused.value.codes == ("H0812",)
    with pytest.raises(DeviceError):
        stream.record_event(wp.Event("cuda:0"))
