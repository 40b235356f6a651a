"""Memory of GPUs that other libraries have: taken from ``__cuda_array_interface__`` or DLPack, and
given by DLPack, without a copy.

Work that they were given so far comes before ours: the current stream waits for theirs.  Layouts
are those of the CUDA array interface, version 3, and of DLPack 1.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass, replace
from operator import index
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from heald.api.array_input import check_rank
from heald.api.casting import scalar_of
from heald.api.foreign_streams import (
    known_stream,
    let_wait,
    loaded_torch,
    stream_of_tensor,
    torch_stream,
    wait_for,
)
from heald.api.struct import spell
from heald.diagnostics import DeviceError, Diagnostic, LaunchError, Note, TypingError
from heald.runtime import Device, byte_span, contiguous_strides, get_device, memory_bytes
from heald.runtime.cuda import gpu_of
from heald.types import BY_NAME, Scalar, Struct, bf16, leaves, numpy_dtype, size_of
from heald.types.descriptors import Element

_T = TypeVar("_T")
CUDA, CUDA_MANAGED = 2, 13
"""Device types of DLPack."""
_DEVICE_ORDINAL = 9
_BEYOND = 1 << 63
_FLAG_READ_ONLY = 1
_CODES = {"i": 0, "u": 1, "f": 2, "bf": 4, "b": 6}


@dataclass(frozen=True, slots=True, eq=False)
class ForeignArray:
    """Elements in memory of another library, which works on ``stream`` where that is known."""

    element: Element
    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: Device
    owner: object
    read_only: bool
    stream: int | None = None


def is_on_gpu(data: Any) -> bool:
    """Does an object of another library say that it lies on a GPU?"""
    if data is None or isinstance(data, np.ndarray) or hasattr(type(data), "element_type"):
        return False
    try:
        return _interface(data) is not None
    except TypingError:
        return True


def _interface(data: Any) -> Any:
    """What an object says of its memory; None where it says nothing.

    Raises:
        TypingError: it is on a GPU and does not tell, as torch of types that the interface lacks
            and of tensors that record gradients (H0712).
    """
    if isinstance(data, type):
        return None  # what its objects have says nothing of itself
    try:
        return getattr(data, "__cuda_array_interface__", None)
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        message = f"the {type(data).__name__} does not say what its memory holds"
        note = Note(f"{type(error).__name__}: {error}")
        hint = "wp.from_torch and wp.from_dlpack take more types, and t.detach() has no gradients"
        raise TypingError(Diagnostic("H0712", message, notes=(note,), hint=hint)) from None


def adopt(data: Any, element: Element | None) -> ForeignArray:
    """What an object with ``__cuda_array_interface__`` holds, as elements of a type.

    Raises:
        TypingError: a type that Heald does not have, or another one than ``element`` (H0712).
        LaunchError: its memory holds its numbers with another sign, or it says that they lie where
            no memory is (H0711).
        DeviceError: it is on no GPU of this process (H0801).
    """
    refuse_other_sign(data)
    said = _interface(data)
    try:
        dtype = np.dtype(said["typestr"])
        ptr, read_only = index(said["data"][0]), bool(said["data"][1])
        shape = tuple(index(n) for n in said["shape"])
        strides = said.get("strides")
        steps = contiguous_strides(shape, dtype.itemsize)
        if strides is not None:
            steps = tuple(index(step) for step, _ in zip(strides, shape, strict=True))
        stream = index(said.get("stream") or 0)
        if not 0 <= stream < 2 * _BEYOND:
            raise ValueError(f"{stream} is no stream")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise TypingError(
            Diagnostic(
                "H0712",
                f"__cuda_array_interface__ of {type(data).__name__} is not what its version 3 says",
                notes=(Note(f"{type(error).__name__}: {error}"),),
            )
        ) from None
    scalar = scalar_of(dtype)
    if scalar is None or not dtype.isnative:
        raise TypingError(Diagnostic("H0712", f"Heald has no type for {said['typestr']!r}"))
    if said.get("mask") is not None:
        raise _misfit("the memory has a mask, and elements of arrays all have a value")
    _check_layout(ptr, shape, steps, dtype.itemsize)
    device = _device_of(ptr) if ptr else _first_gpu()
    theirs = stream or stream_of_tensor(data, device)
    if theirs is not None:
        wait_for(device, theirs)
    found = fold(scalar, element, ptr, (shape, steps), device, data, read_only)
    return replace(found, stream=theirs)


def refuse_other_sign(data: Any) -> None:
    """Refuse what only torch can read: it notes a change of sign (``z.conj().imag``) beside the
    memory, of which neither the interface nor DLPack knows.

    Raises:
        LaunchError: H0711.
    """
    torch = loaded_torch()
    if torch is not None and isinstance(data, torch.Tensor) and data.is_neg():
        message = "the memory of the tensor holds its numbers with another sign"
        raise LaunchError(Diagnostic("H0711", message, hint="copy it first, t.resolve_neg()"))


def fold(
    scalar: Scalar,
    element: Element | None,
    ptr: int,
    layout: tuple[tuple[int, ...], tuple[int, ...]],
    device: Device,
    owner: object,
    read_only: bool,
) -> ForeignArray:
    """Numbers of a scalar type as elements, whose own axes are the last ones.

    Raises:
        TypingError: they are no such elements (H0712).
        LaunchError: no dimensions that arrays have (H0711).
    """
    shape, strides = layout
    wanted = scalar if element is None else element
    inner = () if isinstance(wanted, Struct) else numpy_dtype(wanted).shape
    split = len(shape) - len(inner)
    if isinstance(wanted, Struct) or leaves(wanted)[0] is not scalar:
        raise _misfit(f"the memory holds {scalar.public}, not {spell(wanted)}")
    if split < 0 or shape[split:] != inner:
        raise _misfit(f"memory of shape {shape} does not divide into elements of {spell(wanted)}")
    if strides[split:] != contiguous_strides(inner, size_of(scalar)):
        raise _misfit(f"the components of a {spell(wanted)} must lie side by side")
    outer, steps = shape[:split], strides[:split]
    if not outer:
        outer, steps = (1,), (size_of(wanted),)
    check_rank(len(outer))
    return ForeignArray(wanted, ptr, outer, steps, device, owner, read_only)


def _check_layout(
    ptr: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> None:
    """Refuse a layout that no memory has: bounds checks go by what it says.

    Raises:
        LaunchError: H0711.
    """
    fits = all(0 <= n < _BEYOND for n in shape) and all(-_BEYOND <= n < _BEYOND for n in strides)
    if fits and 0 not in shape:
        low, high = byte_span(shape, strides, itemsize)
        fits = ptr + low > 0 and ptr + high < _BEYOND
    if not (fits and 0 <= ptr < _BEYOND):
        message = f"no memory of a GPU has address {ptr:#x}, shape {shape} and strides {strides}"
        raise LaunchError(Diagnostic("H0711", message))


def _misfit(message: str) -> TypingError:
    hint = "convert it first, in the library that it comes from"
    return TypingError(Diagnostic("H0712", message, hint=hint))


def _first_gpu() -> Device:
    return get_device("cuda")


def _device_of(ptr: int) -> Device:
    """The GPU that an address belongs to."""
    ordinal = ctypes.c_int()
    with gpu_of(get_device("cuda:0")).active() as call:
        which, place = ctypes.c_int(_DEVICE_ORDINAL), ctypes.c_uint64(ptr)
        call("cuPointerGetAttribute", ctypes.byref(ordinal), which, place)
    return get_device(f"cuda:{ordinal.value}")


# ------------------------------------------------------------------------------------------ DLPack


class Tensor(ctypes.Structure):
    """A DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Plain(ctypes.Structure):
    """A DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    """A DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


_KINDS: dict[bytes, type[ctypes.Structure]] = {b"dltensor_versioned": _Versioned} | {
    b"dltensor": _Plain
}


def _for_ever(thing: _T) -> _T:
    """Keep what others have the address of as long as the process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


_USED = _for_ever({name: ctypes.create_string_buffer(b"used_" + name) for name in _KINDS})
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_SetName", _api)
)


class _Taken:
    """A tensor of another library, given back when nothing refers to it any more."""

    __slots__ = ("__weakref__",)

    def __init__(self, managed: int, deleter: int | None) -> None:
        if deleter:
            weakref.finalize(self, _Deleter(deleter), managed)


def take_capsule(capsule: Any, element: Element | None) -> ForeignArray:
    """What a DLPack capsule of a GPU holds; the capsule is used up.

    Raises:
        TypingError: a type that Heald does not have, or another one than ``element`` (H0712).
        LaunchError: it lies where no memory is (H0711).
        DeviceError: a GPU that is not one of this process (H0801).
    """
    name, made = _opened(capsule)
    tensor: Tensor = made.tensor
    scalar = _scalar(tensor)
    device = get_device(f"cuda:{tensor.device_id}")
    size = size_of(scalar)
    shape = tuple(tensor.shape[: tensor.ndim])
    steps = contiguous_strides(shape, size)
    if tensor.strides:
        # As in C: CuPy 14 divides the bytes of a negative stride as an unsigned number.
        steps = tuple(ctypes.c_int64(size * n).value for n in tensor.strides[: tensor.ndim])
    read_only = name == b"dltensor_versioned" and bool(made.flags & _FLAG_READ_ONLY)
    place = (tensor.data or 0) + tensor.byte_offset
    _check_layout(place, shape, steps, size)
    fold(scalar, element, place, (shape, steps), device, None, read_only)  # before it is used up
    owner = _Taken(ctypes.addressof(made), made.deleter)
    _rename(capsule, ctypes.addressof(_USED[name]))
    return fold(scalar, element, place, (shape, steps), device, owner, read_only)


def _opened(capsule: Any) -> tuple[bytes, Any]:
    """The name of a capsule, and what it holds, one of ``_KINDS``."""
    name = next(name for name in _KINDS if _is_valid(id(capsule), name))
    return name, _KINDS[name].from_address(_pointer(id(capsule), name))


def _scalar(tensor: Tensor) -> Scalar:
    for letters, code in _CODES.items():
        if code == tensor.code and tensor.lanes == 1:
            found = BY_NAME.get("b1" if letters == "b" else f"{letters}{tensor.bits}")
            if found is not None:
                return found
    kind = (tensor.code, tensor.bits, tensor.lanes)
    raise TypingError(Diagnostic("H0712", f"Heald has no type for DLPack type {kind}"))


def refuse_negative(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Refuse a layout that torch has none for: versions up to 2.11 end the process at its capsule.

    Raises:
        BufferError: a stride is negative.
    """
    if any(step < 0 for extent, step in zip(shape, strides, strict=True) if extent > 1):
        message = f"DLPack: not everybody takes negative strides, and this array has {strides}"
        raise BufferError(message + "; share a.contiguous()")


def make_capsule(
    memory: ForeignArray, stream: int | None, max_version: tuple[int, int] | None
) -> Any:
    """A DLPack capsule of memory of a GPU, the axes of vectors and matrices last.

    Raises:
        BufferError: structs, strides that are negative or no multiples of a number, and read-only
            memory for somebody who cannot be told.
    """
    if isinstance(memory.element, Struct):
        raise BufferError(f"DLPack has no type for the struct {spell(memory.element)}")
    refuse_negative(memory.shape, memory.strides)
    try:
        let_wait(memory.device, stream)
        if stream is not None and stream == torch_stream(memory.device):
            known_stream(memory.device, stream)
    except DeviceError as error:
        raise BufferError(str(error)) from error
    # Capsules of numpy are given back without Python, which cannot run where one is dropped because
    # its taker has failed.  numpy looks at none of the memory.
    capsule = _as_of_host(memory).__dlpack__(max_version=max_version)
    tensor = _opened(capsule)[1].tensor
    tensor.device_type, tensor.device_id = CUDA, memory.device.ordinal
    if leaves(memory.element)[0] is bf16:
        tensor.code = _CODES["bf"]
    return capsule


def _as_of_host(memory: ForeignArray) -> npt.NDArray[Any]:
    """Memory of a GPU as if numpy could reach it, the axes of vectors and matrices last."""
    t, size = numpy_dtype(memory.element), size_of(memory.element)
    low, high = byte_span(memory.shape, memory.strides, size)
    place = memory_bytes(memory.ptr + low, high - low, memory.owner, read_only=memory.read_only)
    steps = memory.strides + contiguous_strides(t.shape, t.base.itemsize)
    return np.ndarray(memory.shape + t.shape, t.base, place, -low, steps)
