"""Arrays of CuPy, torch and numba without a copy, and the streams that they are used on."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import HealdError, LaunchError, TypingError

pytestmark = pytest.mark.gpu
GPU = "cuda:0"


@wp.kernel
def twice(a: wp.array(dtype=wp.float32)):
    i = wp.tid()
    a[i] = a[i] * 2.0


@wp.kernel
def steps(x: wp.array(dtype=wp.float32), n: int):
    i = wp.tid()
    v = x[i]
    for _ in range(n):
        v = v * 0.5 + 1.0
    x[i] = v


def test_torch_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    t = torch.arange(6, dtype=torch.float32, device="cuda")
    for a in (wp.from_torch(t), wp.from_dlpack(t), wp.array(t, copy=False)):
        assert a.ptr == t.data_ptr()
        assert a.device == GPU
        wp.launch(twice, dim=6, inputs=[a], device=GPU)
    assert t.cpu().tolist() == [8.0 * k for k in range(6)]
    back = wp.to_torch(a)
    assert back.data_ptr() == t.data_ptr()
    other = torch.from_dlpack(wp.full(3, 7.0, device=GPU))
    assert other.cpu().tolist() == [7.0] * 3
    assert torch.as_tensor(wp.full(3, 7.0, device=GPU), device="cuda").cpu().tolist() == [7.0] * 3


@wp.kernel
def lengths(p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.length(p[i])


def test_tensors_are_arguments_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    p, out = torch.full((5, 3), 2.0, device="cuda"), torch.zeros(5, device="cuda")
    for _ in range(4):
        wp.launch(lengths, dim=5, inputs=[p, out], device=GPU)
    wp.synchronize()
    np.testing.assert_allclose(out.cpu().numpy(), 12.0**0.5, rtol=1e-6)
    with pytest.raises(LaunchError) as caught:
        wp.launch(lengths, dim=5, inputs=[out, out], device=GPU)
    assert caught.value.codes == ("H0712",)


def test_types_and_shapes_of_torch() -> None:
    torch = pytest.importorskip("torch")
    t = torch.arange(24, dtype=torch.float32, device="cuda").reshape(4, 2, 3)
    a = wp.from_torch(t, dtype=wp.vec3)
    assert (a.shape, a.dtype) == ((4, 2), wp.vec3)
    np.testing.assert_array_equal(a.numpy(), t.cpu().numpy())
    b = wp.from_torch(t[:, 1], dtype=wp.float32)
    assert b.strides == (24, 4)
    np.testing.assert_array_equal(b.numpy(), t[:, 1].cpu().numpy())
    half = torch.ones(5, dtype=torch.bfloat16, device="cuda")
    assert wp.from_torch(half).numpy().tolist() == [1.0] * 5
    assert wp.to_torch(wp.from_torch(half)).dtype is torch.bfloat16
    assert wp.from_torch(torch.ones(2, dtype=torch.bool, device="cuda")).numpy().tolist() == [1, 1]
    with pytest.raises(TypingError):
        wp.from_torch(t, dtype=wp.int32)
    with pytest.raises(TypingError):
        wp.from_torch(t, dtype=wp.vec2)


def test_a_tensor_stays_alive() -> None:
    torch = pytest.importorskip("torch")
    a = wp.from_torch(torch.full((1 << 20,), 3.0, device="cuda"))
    torch.cuda.empty_cache()
    others = [torch.zeros(1 << 20, device="cuda") for _ in range(8)]
    assert (a.numpy() == 3).all()
    assert len(others) == 8
    lent = wp.to_torch(wp.full(1 << 20, 4.0, device=GPU))
    fresh = [wp.zeros(1 << 20, device=GPU) for _ in range(8)]
    assert bool((lent == 4).all())
    assert len(fresh) == 8


def test_streams_of_torch() -> None:
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    ours = wp.stream_from_torch(side)
    assert ours.cuda_stream == side.cuda_stream
    with torch.cuda.stream(side):
        t = torch.zeros(1 << 16, device="cuda")
        for _ in range(20):
            t += 1.0
        with wp.ScopedStream(wp.stream_from_torch()):
            a = wp.from_torch(t)
            wp.launch(twice, dim=1 << 16, inputs=[a], device=GPU)
        t += 1.0
    side.synchronize()
    assert bool((t == 41).all())
    assert wp.stream_to_torch(ours).cuda_stream == side.cuda_stream
    torch.cuda.synchronize()


def test_launches_and_copies_wait_for_streams_of_torch() -> None:
    """The stream of the launch does, and torch does not use the memory again too early."""
    torch = pytest.importorskip("torch")
    size, side = 1 << 24, torch.cuda.Stream()
    wp.launch(twice, dim=1, inputs=[wp.zeros(1, device=GPU)], device=GPU)  # it is compiled
    for stream in (wp.Stream(GPU), None):
        wp.synchronize(GPU)
        with torch.cuda.stream(side):
            t = torch.zeros(size, device="cuda")
            for _ in range(100):
                t += 1.0
            device = GPU if stream is None else None
            wp.launch(twice, dim=size, inputs=[t], stream=stream, device=device)
        wp.synchronize(GPU)
        assert bool((t == 200).all())
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            for _ in range(100):
                t -= 1.0
            copied = wp.array(t + 0.0)
            for _ in range(20):
                torch.full((size,), 7.0, device="cuda")
        assert (copied.numpy() == 100).all()
    torch.cuda.synchronize()


def test_memory_used_on_a_stream_of_torch_is_freed_after_its_work() -> None:
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    results = []
    for k in range(20):
        stream = wp.Stream(GPU, cuda_stream=side.cuda_stream)
        with wp.ScopedStream(stream):
            x = wp.full(1 << 18, float(k), device=GPU)
            wp.launch(steps, dim=1 << 18, inputs=[x, 2000], device=GPU)
            y = wp.clone(x)
        del x, stream
        others = [wp.full(1 << 18, -1.0, device=GPU) for _ in range(3)]
        results.append(y)
        del others
    torch.cuda.synchronize()
    assert all((y.numpy() == 2).all() for y in results)
    assert wp.stream_from_torch(side) is wp.stream_from_torch(side)


def test_torch_keeps_memory_until_our_work_has_ended() -> None:
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    results = []
    with torch.cuda.stream(side):
        for _ in range(20):
            t = torch.zeros(1 << 18, device="cuda")
            a = wp.from_torch(t)
            wp.launch(steps, dim=1 << 18, inputs=[a, 3000], device=GPU)
            results.append(wp.clone(a))
            del t, a
            torch.full((1 << 18,), -5.0, device="cuda")
    assert all((y.numpy() == 2).all() for y in results)


def test_torch_waits_for_our_work() -> None:
    """However it takes an array, and before the memory is used again."""
    torch = pytest.importorskip("torch")
    size, side = 1 << 20, torch.cuda.Stream()
    ways = {
        "to_torch": wp.to_torch,
        "from_dlpack": torch.from_dlpack,
        "as_tensor": lambda a: torch.as_tensor(a, device="cuda"),
    }
    for name, take in ways.items():
        for stream in (wp.get_stream(GPU), wp.Stream(GPU)):
            totals = []
            for _ in range(10):
                with torch.cuda.stream(side), wp.ScopedStream(stream):
                    x = wp.full(size, -7.0, device=GPU)
                    wp.launch(steps, dim=size, inputs=[x, 3000], device=GPU)
                    t = take(x)
                    for _ in range(20):
                        t = t * 1.0
                    totals.append((t == 2.0).sum())
                    del t, x
                    wp.full(size, -1.0, device=GPU)
            torch.cuda.synchronize()
            assert [int(total) for total in totals] == [size] * 10, (name, stream)


def test_tensors_outlive_streams_of_ours() -> None:
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    for _ in range(3):
        with torch.cuda.stream(side):
            t = torch.zeros(1 << 16, device="cuda")
            stream = wp.Stream(GPU)
            wp.launch(twice, dim=1 << 16, inputs=[t], stream=stream)
            del stream
            del t
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


AT_THE_END = """
import sys, torch
import heald as wp
a = wp.full(5, 2.0, device="cuda:0")
t = wp.to_torch(a)
torch.kept = [wp.to_torch(a), torch.as_tensor(a, device="cuda"), torch.from_dlpack(a)]
sys.kept = [wp.to_torch(wp.zeros(3, device="cuda:0")), a.__dlpack__()]
b = wp.from_torch(torch.ones(5, device="cuda"))
side = torch.cuda.Stream()
with torch.cuda.stream(side), wp.ScopedStream(wp.Stream("cuda:0")):
    c = wp.from_torch(torch.ones(5, device="cuda"))
    d = wp.array(torch.ones(5, device="cuda"), copy=False)
cycle = [t, b, c, d]
cycle.append(cycle)
print(t.tolist())
"""


def test_a_process_ends_with_tensors_of_both() -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "-c", AT_THE_END]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[2.0, 2.0, 2.0, 2.0, 2.0]\n"), done.stderr


def test_torch_is_refused_what_it_has_no_layout_for() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(BufferError, match="negative strides"):
        torch.from_dlpack(wp.zeros(4, device=GPU)[::-1])


def test_work_of_torch_comes_first() -> None:
    """On a stream that does not wait for others by itself."""
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    t = torch.zeros(1 << 22, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for _ in range(50):
            t += 1.0
        a = wp.from_torch(t)
    wp.launch(twice, dim=1 << 22, inputs=[a], device=GPU)
    assert (a.numpy() == 100).all()


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(6, dtype=cupy.float32).reshape(2, 3)
    a = wp.array(x, copy=False)
    assert a.ptr == x.data.ptr
    wp.launch(twice, dim=6, inputs=[a.flatten()], device=GPU)
    assert x.get().tolist() == [[0, 2, 4], [6, 8, 10]]
    y = cupy.asarray(wp.full((2, 2), 3.0, device=GPU))
    assert y.get().tolist() == [[3, 3], [3, 3]]
    assert wp.from_dlpack(x).numpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    assert cupy.from_dlpack(wp.ones(3, device=GPU)).get().tolist() == [1, 1, 1]
    copied = wp.array(x)
    assert copied.ptr != x.data.ptr
    assert copied.device == GPU
    there = wp.array(x, device="cpu")
    assert there.numpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    assert wp.array(x.T, copy=False).numpy().tolist() == [[0, 6], [2, 8], [4, 10]]
    for take in (wp.from_dlpack, lambda x: wp.array(x, copy=False)):
        assert take(x[::-1, ::2]).numpy().tolist() == [[6, 10], [0, 4]]


def test_numba() -> None:
    cuda = pytest.importorskip("numba.cuda")
    x = cuda.to_device(np.arange(4, dtype=np.float32))
    a = wp.array(x, copy=False)
    wp.launch(twice, dim=4, inputs=[a], device=GPU)
    wp.synchronize()
    assert x.copy_to_host().tolist() == [0, 2, 4, 6]
    y: Any = cuda.as_cuda_array(wp.ones(3, device=GPU))
    assert y.copy_to_host().tolist() == [1, 1, 1]


def test_what_is_refused() -> None:
    cupy = pytest.importorskip("cupy")
    x = cupy.zeros(3, dtype=cupy.complex64)
    with pytest.raises(TypingError):
        wp.array(x)
    with pytest.raises(LaunchError) as caught:
        wp.array(cupy.zeros(3, dtype=cupy.float32), device="cpu", copy=False)
    assert caught.value.codes == ("H0704",)
    with pytest.raises(HealdError):
        wp.launch(twice, dim=3, inputs=[cupy.zeros(3, dtype=cupy.float32)], device="cpu")


def test_capsules_that_nobody_takes() -> None:
    a = wp.ones(1 << 20, device=GPU)
    before = wp.get_mempool_used_mem_current(GPU)
    for _ in range(10):
        a.__dlpack__()
        a.__dlpack__(max_version=(1, 0))
    del a
    wp.synchronize()
    assert wp.get_mempool_used_mem_current(GPU) < before
