"""Streams, events, graphs, memory pools and peers of GPUs, as users meet them.

On the CPU and in the simulator everything is done when a call returns: there is nothing to wait for
and nothing to order, so waiting for such a device does nothing and its streams do not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from heald.api.array import array
from heald.api.edge import at_edge
from heald.api.scalars import describe
from heald.diagnostics import DeviceError, Diagnostic, TypingError
from heald.runtime import Device, DeviceLike, get_device
from heald.runtime.cuda import graphs, memory, peers, queue, streams
from heald.runtime.cuda.devices import Gpu, gpu_of
from heald.runtime.cuda.graphs import Graph, ScopedCapture
from heald.runtime.cuda.streams import Event, ScopedStream, Stream

__all__ = [
    "Event",
    "Graph",
    "ScopedCapture",
    "ScopedMempool",
    "ScopedPeerAccess",
    "ScopedStream",
    "Stream",
    "capture_begin",
    "capture_end",
    "capture_if",
    "capture_launch",
    "capture_while",
    "get_event_elapsed_time",
    "get_mempool_release_threshold",
    "get_mempool_used_mem_current",
    "get_mempool_used_mem_high",
    "get_stream",
    "is_conditional_graph_supported",
    "is_mempool_access_enabled",
    "is_mempool_access_supported",
    "is_mempool_enabled",
    "is_mempool_supported",
    "is_peer_access_enabled",
    "is_peer_access_supported",
    "record_event",
    "set_mempool_access_enabled",
    "set_mempool_enabled",
    "set_mempool_release_threshold",
    "set_peer_access_enabled",
    "set_stream",
    "synchronize_event",
    "synchronize_stream",
    "wait_event",
    "wait_stream",
]

get_stream = at_edge(streams.get_stream)
set_stream = at_edge(streams.set_stream)
get_event_elapsed_time = at_edge(queue.get_event_elapsed_time)
synchronize_event = at_edge(queue.synchronize_event)
record_event = at_edge(streams.record_event)
wait_event = at_edge(streams.wait_event)
wait_stream = at_edge(streams.wait_stream)
capture_begin = at_edge(graphs.capture_begin)
capture_end = at_edge(graphs.capture_end)
capture_launch = at_edge(graphs.capture_launch)


@at_edge
def synchronize_stream(stream_or_device: Stream | DeviceLike = None) -> None:
    """Wait for a stream, or the current one of a device; nothing to do on a CPU.

    Raises:
        KernelFault: a launch on the stream has failed.
        DeviceError: the stream is being captured (H0811), or no such device.
    """
    if not isinstance(stream_or_device, Stream):
        device = get_device(stream_or_device)
        if not device.is_cuda:
            return
        stream_or_device = streams.current_stream(device)
    queue.synchronize_stream(stream_or_device)


# ------------------------------------------------------------------------------------- conditions

Part = Graph | Callable[..., object] | None
"""What runs under a condition: a graph, or a function that launches."""


def is_conditional_graph_supported() -> bool:
    """Can a graph branch on the contents of an array?  No."""
    return False


@at_edge
def capture_if(
    condition: array,
    on_true: Part = None,
    on_false: Part = None,
    stream: Stream | None = None,
    **kwargs: Any,
) -> None:
    """Run one of two parts, as the first element of an array says.  The host looks at it, so this
    is no part of a graph.

    Args:
        condition: an array of one integer.
        on_true: a graph, or a function that is called with ``kwargs``.
        on_false: the same for zero.
        stream: for graphs, and to wait for; the current one of the device by default.
        kwargs: for the function.

    Raises:
        DeviceError: the stream is being captured (H0811).
        KernelFault: an earlier launch has failed.
        TypingError: an argument is not of its kind (H0702).
    """
    _run(on_true if _is_true(condition, stream) else on_false, stream, kwargs)


@at_edge
def capture_while(
    condition: array, while_body: Part, stream: Stream | None = None, **kwargs: Any
) -> None:
    """Run a part as long as the first element of an array is not zero; as :func:`capture_if`.

    Args:
        condition: an array of one integer, which the part changes.
        while_body: a graph, or a function that is called with ``kwargs``.
        stream: for graphs, and to wait for; the current one of the device by default.
        kwargs: for the function.

    Raises:
        DeviceError: the stream is being captured (H0811).
        KernelFault: an earlier launch has failed.
        TypingError: an argument is not of its kind (H0702).
    """
    while _is_true(condition, stream):
        _run(while_body, stream, kwargs)


def _is_true(condition: array, stream: Stream | None) -> bool:
    if not isinstance(condition, array) or 0 in condition.shape:
        message = f"condition is {describe(condition)}, not an array of one integer"
        hint = "make one with wp.array([1], dtype=int)"
        raise TypingError(Diagnostic("H0702", message, hint=hint))
    if stream is not None:
        streams.expect(stream, Stream, "stream")
    if not condition.device.is_cuda:
        return bool(condition.numpy().flat[0])
    chosen = streams.current_stream(condition.device) if stream is None else stream
    chosen.refuse_capture("a branch on the contents of an array")
    with ScopedStream(chosen, sync_enter=False):
        return bool(condition.numpy().flat[0])


def _run(part: Part, stream: Stream | None, kwargs: dict[str, Any]) -> None:
    if isinstance(part, Graph):
        graphs.capture_launch(part, stream)
    elif callable(part):
        with ScopedStream(stream, sync_enter=False):
            part(**kwargs)
    elif part is not None:
        message = f"what runs under a condition is {describe(part)}, no graph and no function"
        raise TypingError(Diagnostic("H0702", message))


# ------------------------------------------------------------------------------------------- pools


def _gpu(device: DeviceLike, what: str) -> Gpu:
    return gpu_of(streams.cuda_device(device, what))


def is_mempool_supported(device: DeviceLike = None) -> bool:
    """Can memory of the device be allocated in the order of streams?  Not on a CPU."""
    return get_device(device).is_mempool_supported


def is_mempool_enabled(device: DeviceLike = None) -> bool:
    """Is new memory of the device allocated in the order of streams, from a pool?"""
    return get_device(device).is_mempool_enabled


@at_edge
def set_mempool_enabled(device: DeviceLike, enable: bool) -> None:
    """Allocate new memory of a GPU from its pool, or from the driver each time.

    Raises:
        DeviceError: no GPU, or its driver has no pools (H0805).
    """
    gpu = _gpu(device, "memory pools are of GPUs")
    if enable and not gpu.has_pools:
        message = f"the driver of '{gpu.device}' has no memory pools"
        raise DeviceError(Diagnostic("H0805", message))
    gpu.uses_pool = bool(enable)


@at_edge
def set_mempool_release_threshold(device: DeviceLike, threshold: int | float) -> None:
    """How much memory the pool of a GPU keeps for the next arrays while it is free.

    Args:
        device: the GPU.
        threshold: bytes; up to 1, the share of all its memory.

    Raises:
        DeviceError: no GPU, no pools, or a threshold below 0 or of 2^64 bytes (H0805).
        TypingError: it is no number (H0702).
    """
    gpu = _gpu(device, "memory pools are of GPUs")
    if not isinstance(threshold, (int, float, np.integer, np.floating)):
        message = f"a threshold is a number of bytes, not {describe(threshold)}"
        raise TypingError(Diagnostic("H0702", message))
    if not 0 <= threshold < 1 << 64:  # nor is it NaN
        hint = "a share of the memory is 0.0 to 1.0, and more counts bytes"
        raise DeviceError(Diagnostic("H0805", f"a threshold of {threshold} bytes", hint=hint))
    memory.set_threshold(gpu, int(threshold * gpu.memory if threshold <= 1 else threshold))


@at_edge
def get_mempool_release_threshold(device: DeviceLike = None) -> int:
    """How many bytes the pool of a GPU keeps while they are free.

    Raises:
        DeviceError: no GPU, or no pools (H0805).
    """
    return memory.threshold(_gpu(device, "memory pools are of GPUs"))


@at_edge
def get_mempool_used_mem_current(device: DeviceLike = None) -> int:
    """Bytes of the pool of a GPU that are in use.

    Raises:
        DeviceError: no GPU, or no pools (H0805).
    """
    return memory.used_memory(_gpu(device, "memory pools are of GPUs"))


@at_edge
def get_mempool_used_mem_high(device: DeviceLike = None) -> int:
    """Bytes of the pool of a GPU that were in use at most.

    Raises:
        DeviceError: no GPU, or no pools (H0805).
    """
    return memory.used_memory(_gpu(device, "memory pools are of GPUs"), high=True)


class ScopedMempool:
    """Switches the memory pool of a GPU on or off inside a ``with``.

    Args:
        device: the GPU.
        enable: whether new memory comes from its pool.
    """

    def __init__(self, device: DeviceLike, enable: bool) -> None:
        self.device = get_device(device)
        self._enable = enable
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(is_mempool_enabled(self.device))
        set_mempool_enabled(self.device, self._enable)

    def __exit__(self, *_: Any) -> None:
        set_mempool_enabled(self.device, self._before.pop())


# ------------------------------------------------------------------------------------------- peers


def is_peer_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Can kernels of one GPU reach memory of another?  A device reaches its own."""
    target, peer = get_device(target_device), get_device(peer_device)
    return target == peer or (_are_gpus(target, peer) and peers.is_supported(target, peer))


def is_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Do copies between two GPUs go from one to the other directly?"""
    target, peer = get_device(target_device), get_device(peer_device)
    return target == peer or (_are_gpus(target, peer) and peers.is_enabled(target, peer))


@at_edge
def set_peer_access_enabled(
    target_device: DeviceLike, peer_device: DeviceLike, enable: bool
) -> None:
    """Let a GPU reach the memory of another one directly, that of its pool too, or no more.

    Args:
        target_device: whose memory is reached.
        peer_device: who reaches it.
        enable: whether it may.

    Raises:
        DeviceError: they cannot, or are no GPUs (H0805).
    """
    target, peer = get_device(target_device), get_device(peer_device)
    if target == peer:
        return
    if not is_peer_access_supported(target, peer):
        message = f"'{peer}' cannot reach memory of '{target}'"
        hint = "copies between them go through the host, which needs nothing"
        raise DeviceError(Diagnostic("H0805", message, hint=hint))
    peers.enable(target, peer, enable)


class ScopedPeerAccess:
    """Lets a GPU reach the memory of another one inside a ``with``, or keeps it from doing so.

    Args:
        target_device: whose memory is reached.
        peer_device: who reaches it.
        enable: whether it may.
    """

    def __init__(self, target_device: DeviceLike, peer_device: DeviceLike, enable: bool) -> None:
        self.target_device = get_device(target_device)
        self.peer_device = get_device(peer_device)
        self._enable = enable
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(is_peer_access_enabled(self.target_device, self.peer_device))
        set_peer_access_enabled(self.target_device, self.peer_device, self._enable)

    def __exit__(self, *_: Any) -> None:
        set_peer_access_enabled(self.target_device, self.peer_device, self._before.pop())


def is_mempool_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Can kernels of one GPU reach the memory pool of another?  A device reaches its own."""
    target = get_device(target_device)
    return target.is_mempool_supported and is_peer_access_supported(target, peer_device)


def is_mempool_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """May a GPU reach the memory pool of another one?"""
    target, peer = get_device(target_device), get_device(peer_device)
    return target == peer or (_are_gpus(target, peer) and peers.is_enabled(target, peer, pool=True))


@at_edge
def set_mempool_access_enabled(
    target_device: DeviceLike, peer_device: DeviceLike, enable: bool
) -> None:
    """Let a GPU reach the memory pool of another one, or no more.

    Args:
        target_device: whose pool is reached.
        peer_device: who reaches it.
        enable: whether it may.

    Raises:
        DeviceError: it cannot, or they are no GPUs (H0805).
    """
    target, peer = get_device(target_device), get_device(peer_device)
    if target == peer:
        return
    if not is_mempool_access_supported(target, peer):
        message = f"'{peer}' cannot reach the memory pool of '{target}'"
        hint = "copies between them go through the host, which needs nothing"
        raise DeviceError(Diagnostic("H0805", message, hint=hint))
    peers.enable_pool(target, peer, enable)


def _are_gpus(*devices: Device) -> bool:
    return all(device.is_cuda for device in devices)
