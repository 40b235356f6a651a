"""PyTorch tensors over the memory of arrays, and arrays over the memory of tensors.

torch is imported when a function of this module is first called.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np

import heald as wp
from heald.api.foreign_streams import LEGACY, known_stream, lent_stream
from heald.diagnostics import DeviceError, Diagnostic, LaunchError, TypingError

_TYPES = {
    "bool": "bool",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
}
"""Names of types in torch, and here."""


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        message = "torch is not installed"
        hint = "pip install torch"
        raise DeviceError(Diagnostic("H0805", message, hint=hint)) from None


@cache
def _by_torch() -> dict[Any, Any]:
    """The scalar type of each torch dtype.  Old versions of torch have fewer."""
    torch = _torch()
    names = [name for name in _TYPES if hasattr(torch, name)]
    return {getattr(torch, name): getattr(wp, _TYPES[name]) for name in names}


def dtype_from_torch(torch_dtype: Any) -> Any:
    """The scalar type of a torch dtype.

    Raises:
        TypingError: Heald has no such type (H0712).
        DeviceError: torch is not installed (H0805).
    """
    found = _by_torch().get(torch_dtype)
    if found is None:
        raise TypingError(Diagnostic("H0712", f"Heald has no type for {torch_dtype}"))
    return found


def dtype_to_torch(dtype: Any) -> Any:
    """The torch dtype of a scalar type, or of the components of a vector or matrix type.

    Raises:
        TypingError: no element type (H0207), or torch has no such type (H0712).
        DeviceError: torch is not installed (H0805).
    """
    table = _by_torch()
    t = wp.zeros(1, dtype=dtype).element_type
    scalar = getattr(t, "dtype", t)
    for torch_dtype, known in table.items():
        if _descriptor(known) is scalar:
            return torch_dtype
    raise TypingError(Diagnostic("H0712", f"torch has no type for {getattr(t, 'public', t)}"))


def _descriptor(dtype: Any) -> Any:
    return wp.types.as_type(dtype)


def device_from_torch(torch_device: Any) -> wp.Device:
    """The device that torch calls so.

    Raises:
        DeviceError: Heald does not have it (H0801), or torch is not installed (H0805).
    """
    return wp.get_device(str(_torch().device(torch_device)))


def device_to_torch(device: Any) -> str:
    """What torch calls a device; arrays of the simulator lie on the host.

    Raises:
        DeviceError: unknown device (H0801).
    """
    place = wp.get_device(device)
    return "cpu" if place.alias == "sim" else str(place.alias)


def from_torch(
    t: Any, dtype: Any = None, requires_grad: bool | None = None, grad: Any = None
) -> wp.array:
    """An array over the memory of a tensor, which it keeps alive.

    Args:
        t: a dense tensor on the CPU or a CUDA GPU, whose current stream ours then waits for.
        dtype: element type; a vector or matrix type takes the last axes as its components.
        requires_grad: False takes a tensor that records gradients as numbers only.
        grad: must be None.

    Raises:
        TypingError: no tensor (H0702), or its type is not ``dtype`` or does not exist (H0712).
        LaunchError: it is on another kind of device (H0704), not dense (H0711), or its gradients
            would be lost (H0716).
        DeviceError: torch is not installed (H0805), or its GPU is none of this process (H0801).
    """
    torch = _torch()
    if not isinstance(t, torch.Tensor):
        raise TypingError(Diagnostic("H0702", f"from_torch takes a tensor, not {type(t).__name__}"))
    if requires_grad or grad is not None or (t.requires_grad and requires_grad is None):
        raise LaunchError(
            Diagnostic(
                "H0716",
                "from_torch: gradients do not pass between torch and Heald in this version",
                hint="take the numbers only, from_torch(t.detach()) or requires_grad=False",
            )
        )
    if t.device.type not in ("cpu", "cuda"):
        message = f"the tensor is on '{t.device}', arrays are on 'cpu' or 'cuda'"
        raise LaunchError(Diagnostic("H0704", message, hint="move it first, t.cpu()"))
    if t.layout is not torch.strided:
        raise LaunchError(Diagnostic("H0711", f"a tensor with layout {t.layout} is not dense"))
    if t.is_conj() or t.is_neg():
        message = "the memory of the tensor holds its numbers with another sign"
        raise LaunchError(Diagnostic("H0711", message, hint="copy it first, t.resolve_neg()"))
    scalar = dtype_from_torch(t.dtype)
    values = t.detach()
    if values.is_cuda:
        return wp.from_dlpack(values, dtype)
    if scalar is wp.bfloat16:
        return _bfloat16(values.view(torch.int16).numpy().view(np.uint16), dtype)
    made: wp.array = wp.array(values.numpy(), dtype=dtype, copy=False)
    return made


def _bfloat16(bits: np.ndarray[Any, Any], dtype: Any) -> wp.array:
    """An array over bits of bfloat16 numbers."""
    capsule = wp.array(bits if bits.ndim else bits.reshape(1), copy=False).view(wp.bfloat16)
    return wp.from_dlpack(capsule, dtype)


def to_torch(a: wp.array, requires_grad: bool | None = None) -> Any:
    """A tensor over the memory of an array, the axes of vectors and matrices last.

    Args:
        a: the array; the tensor keeps its memory alive.
        requires_grad: whether torch records gradients of what it computes from the tensor.

    Raises:
        TypingError: no array (H0702), or a struct or a type that torch does not have (H0712).
        LaunchError: the array is read-only (H0705), or a stride is negative (H0711): tensors know
            neither.
        DeviceError: torch is not installed (H0805).
    """
    torch = _torch()
    if not isinstance(a, wp.array):
        raise TypingError(Diagnostic("H0702", f"to_torch takes an array, not {type(a).__name__}"))
    wanted = dtype_to_torch(a.dtype)
    if a.read_only:
        message = "a tensor cannot be read-only memory, which this array shares"
        raise LaunchError(Diagnostic("H0705", message, hint="copy it: wp.to_torch(a.clone())"))
    if any(stride < 0 for stride in a.strides):
        message = f"a tensor has no negative strides; this array has {a.strides}"
        raise LaunchError(Diagnostic("H0711", message, hint="use wp.to_torch(a.contiguous())"))
    if a.device.is_cuda:
        made = torch.from_dlpack(a)
        return made.requires_grad_(bool(requires_grad)) if requires_grad is not None else made
    values = a.carriers()
    if wanted is torch.bfloat16:
        tensor = torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(values)
    return tensor.requires_grad_(bool(requires_grad)) if requires_grad is not None else tensor


def stream_from_torch(stream_or_device: Any = None) -> Any:
    """The stream of torch as one of ours, for ``wp.ScopedStream`` and ``stream=``.

    Args:
        stream_or_device: a ``torch.cuda.Stream``, or a device of torch whose current stream is
            meant; that of torch's current device by default.

    Raises:
        DeviceError: torch is not installed (H0805), or its GPU is none of this process (H0801).
    """
    torch = _torch()
    stream = stream_or_device
    if not isinstance(stream, torch.cuda.Stream):
        stream = torch.cuda.current_stream(stream_or_device)
    device = wp.get_device(f"cuda:{torch.device(stream.device).index or 0}")
    return known_stream(device, stream.cuda_stream or LEGACY)


def stream_to_torch(stream_or_device: Any = None) -> Any:
    """A stream of ours, or the current one of a device, as one of torch.

    Raises:
        DeviceError: torch is not installed (H0805), or the device is no GPU (H0805).
    """
    _torch()
    stream = stream_or_device
    if not isinstance(stream, wp.Stream):
        stream = wp.get_stream(stream_or_device)
    return lent_stream(stream)
