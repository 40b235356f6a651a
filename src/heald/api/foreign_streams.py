"""Streams of other libraries: ours wait for their work on memory that is shared, and they for ours.

Torch needs more than others.  It says nothing of its streams in ``__cuda_array_interface__``, and
heeds nothing that others say of theirs there.  This is the one place where it is told of ours.  It
is never imported here: who has not loaded it has no tensors.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from heald.once import once
from heald.runtime import Device
from heald.runtime.cuda import (
    Event,
    Gpu,
    Stream,
    current_stream,
    gpu_of,
    outside_graph,
    raise_pending,
)

LEGACY = 1
"""The handle of the legacy stream of CUDA, which is never captured."""
NO_STREAM = -1
"""What DLPack calls a consumer that waits by itself."""


def wait_for(device: Device, stream: int) -> None:
    """Let the current stream wait for what another library gave to a stream of its own.

    Raises:
        DeviceError: one of the two is captured (H0811).
    """
    ours = current_stream(device)
    if stream == ours.cuda_stream:
        return
    ours.refuse_capture("waiting for a stream of another library")
    _refuse_captured(ours, stream)
    event = Event(device)
    with ours.gpu.active() as call:
        call("cuEventRecord", ctypes.c_void_p(event.cuda_event), ctypes.c_void_p(stream))
    ours.wait_event(event)


def let_wait(device: Device, stream: int | None) -> None:
    """Let a stream of another library wait for what our current stream was given; None stands for
    the legacy stream.

    Raises:
        DeviceError: one of the two is captured (H0811).
        KernelFault: an earlier launch has failed.
    """
    ours = current_stream(device)
    if stream in (NO_STREAM, ours.cuda_stream):
        return
    ours.refuse_capture("sharing an array")
    _refuse_captured(ours, stream or LEGACY)
    raise_pending(ours)
    handle, event = ctypes.c_void_p(stream or LEGACY), ours.record_event()
    with ours.gpu.active() as call:
        mark = ctypes.c_void_p(event.cuda_event)
        call("cuStreamWaitEvent", handle, mark, ctypes.c_uint(0))


def _refuse_captured(ours: Stream, stream: int) -> None:
    """Raise where another library captures its stream: an event would draw ours into its graph.

    Raises:
        DeviceError: H0811.
    """
    state = ctypes.c_int()
    if stream != LEGACY:
        with ours.gpu.active() as call:
            call("cuStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(state))
    if state.value:
        message = "another library captures the stream of this array into a graph, and we would "
        message += "work on a stream that is no part of it"
        hint = (
            "work on its stream: with wp.ScopedStream(wp.Stream(device, cuda_stream=handle)), or "
        )
        hint += "wp.stream_from_torch() for torch"
        raise outside_graph(message, hint)


# ------------------------------------------------------------------------------------------- torch


def loaded_torch() -> Any:
    """Torch, where this process has loaded all of it; else None."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") and hasattr(torch, "cuda") else None


def torch_stream(device: Device) -> int | None:
    """The stream that torch uses on a GPU in this thread; None where CUDA orders it with ours, or
    torch is not there."""
    torch = loaded_torch()
    if torch is None:
        return None
    theirs = LEGACY
    if torch.cuda.is_initialized():  # else it has used no GPU, and would begin to if asked
        theirs = torch.cuda.current_stream(str(device)).cuda_stream or LEGACY
    ours = current_stream(device)
    if theirs == ours.cuda_stream or (theirs == LEGACY and not ours.is_foreign):
        return None
    return theirs


def stream_of_tensor(data: Any, device: Device) -> int | None:
    """The stream on which torch works with a tensor; None where CUDA orders it with ours, or for
    what is no tensor.

    Torch is told of ours, so that it does not use the memory again before our work has ended.
    """
    torch = loaded_torch()
    if torch is None or not isinstance(data, torch.Tensor):
        return None
    theirs = torch_stream(device)
    if theirs is not None:
        data.record_stream(lent_stream(current_stream(device)))
    return theirs


def let_torch_wait(device: Device) -> None:
    """Let torch wait for what our current stream was given, where it is there.

    Raises:
        DeviceError: one of the streams of the two is captured (H0811).
        KernelFault: an earlier launch has failed.
    """
    theirs = torch_stream(device)
    if theirs is not None:
        let_wait(device, theirs)
        known_stream(device, theirs)


def lent_stream(stream: Stream) -> Any:
    """A stream of ours as one of torch, which marks it whenever it frees memory used on it."""
    stream.lend()
    return loaded_torch().cuda.ExternalStream(stream.cuda_stream, device=str(stream.device))


def known_stream(device: Device, handle: int) -> Stream:
    """A stream of torch as one of ours, for which memory of ours waits when it is freed.  There are
    few, and torch keeps them."""
    return _known(gpu_of(device), handle)


@once
def _known(gpu: Gpu, handle: int) -> Stream:
    return Stream(gpu.device, cuda_stream=handle)
