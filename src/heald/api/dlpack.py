"""DLPack: arrays to and from other libraries without a copy.

numpy does the work; bfloat16, which it does not know, passes it as uint16, and the type code in the
capsule is set right on the way out and in.  The layout of a capsule is that of DLPack 1
(https://dmlc.github.io/dlpack/latest/c_api.html).
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.api.array import array, make_foreign
from heald.api.array_input import element_of
from heald.api.casting import scalar_of
from heald.api.foreign import (
    CUDA,
    CUDA_MANAGED,
    ForeignArray,
    make_capsule,
    refuse_negative,
    refuse_other_sign,
    take_capsule,
)
from heald.api.foreign_streams import loaded_torch, stream_of_tensor
from heald.api.scalars import describe
from heald.api.struct import spell
from heald.diagnostics import Diagnostic, LaunchError, Note, TypingError
from heald.runtime import get_device
from heald.runtime.cuda import current_stream
from heald.types import Scalar, Struct, bf16, leaves, u16
from heald.types.descriptors import Element

HOST = (1, 0)
"""What ``__dlpack_device__`` says of memory of the host."""

_HOST_KINDS = (1, 3)  # memory of the host, and such memory that CUDA pinned
_BFLOAT, _UNSIGNED = 4, 1  # type codes
_OFFSET_OF_TENSOR = {b"dltensor_versioned": 32, b"dltensor": 0}

_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Header(ctypes.Structure):
    """The start of a DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


def _header(capsule: Any) -> _Header | None:
    """The tensor that a capsule holds; None where it is no capsule, or was used before."""
    if type(capsule).__name__ != "PyCapsule":
        return None
    for name, offset in _OFFSET_OF_TENSOR.items():
        if _is_valid(capsule, name):
            return _Header.from_address(_pointer(capsule, name) + offset)
    return None


def export(a: array, options: dict[str, Any]) -> Any:
    """A capsule of an array, the axes of vectors and matrices last.

    Raises:
        BufferError: structs, negative strides, and what numpy refuses: another device, memory that
            must not be written for somebody who does not ask for a version of DLPack that can say
            so.
    """
    if a.device.is_cuda:
        return _export_from_gpu(a, **options)
    if isinstance(a.element_type, Struct):
        raise BufferError(f"DLPack has no type for the struct {spell(a.element_type)}")
    refuse_negative(a.shape, a.strides)
    try:
        capsule = a.carriers().__dlpack__(**options)
    except ValueError as error:  # numpy before 2.4, of another device
        raise BufferError(str(error)) from error
    if leaves(a.element_type)[0] is bf16:
        header = _header(capsule)
        assert header is not None
        header.code = _BFLOAT
    return capsule


def _export_from_gpu(
    a: array,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    if dl_device is not None and tuple(map(int, dl_device)) != (CUDA, a.device.ordinal):
        raise BufferError(f"the array is on '{a.device}'")
    given = a.clone() if copy else a
    layout = (given.element_type, given.address, given.shape, given.strides)
    memory = ForeignArray(*layout, given.device, given.owner, given.read_only)
    return make_capsule(memory, stream, max_version)


def is_on_host(data: Any) -> bool:
    """Does a numpy array, or a tensor of another library, say that it lies in memory of the
    host?"""
    ask = getattr(type(data), "__dlpack_device__", None)
    if ask is None or isinstance(data, array):
        return False
    try:
        kind, _ = ask(data)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return False  # whoever asks says then what is wrong with it
    return kind in _HOST_KINDS


class _Handed:
    """Hands a capsule to numpy."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return HOST


def from_dlpack(source: Any, dtype: Any = None) -> array:
    """An array over the memory of a tensor of another library, which stays alive with it.

    The library must be able to share memory by DLPack (numpy, torch, jax, cupy).  The current
    stream of a GPU waits for what the library gave to its own.  Where
    it says that the memory must not be written, or is too old to say anything, the array is
    read-only.

    Args:
        source: a tensor with ``__dlpack__``, or a DLPack capsule.
        dtype: element type; a vector or matrix type takes the last axes as its components.

    Raises:
        TypingError: no tensor (H0702), a type that Heald does not have, or another one than
            ``dtype`` (H0712).
        LaunchError: the memory is of another device (H0704), or has no dimensions that arrays have
            or numbers of another sign (H0711).
    """
    refuse_other_sign(source)
    element = None if dtype is None else element_of(dtype)
    if isinstance(source, np.ndarray):
        return _share(source, element, None)  # numpy's own memory can be pinned
    capsule = _capsule_of(source)
    header = _header(capsule)
    if header is None:
        raise TypingError(
            Diagnostic(
                "H0702",
                f"{describe(source)} is no DLPack tensor",
                hint="it needs a method __dlpack__; a capsule can be used once",
            )
        )
    if header.device_type in (CUDA, CUDA_MANAGED):
        taken = take_capsule(capsule, element)
        stream_of_tensor(source, taken.device)  # torch hears of ours; it has made ours wait
        return make_foreign(taken)
    if header.device_type not in _HOST_KINDS:
        raise _other_device((header.device_type, header.device_id))
    is_bfloat = header.code == _BFLOAT and header.bits == bf16.bits and header.lanes == 1
    if is_bfloat:
        header.code = _UNSIGNED
    try:
        values = np.from_dlpack(_Handed(capsule))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        message = f"the type or layout of {type(source).__name__} cannot be shared"
        raise TypingError(
            Diagnostic("H0712", message, notes=(Note(f"numpy says: {error}"),))
        ) from None
    _pin(source)
    return _share(values, element, bf16 if is_bfloat else None)


def _pin(source: Any) -> None:
    """Keep torch from freeing memory that we share, as ``t.resize_()`` does to those who have it
    by DLPack; for a storage that numpy shares torch refuses."""
    torch = loaded_torch()
    if torch is not None and isinstance(source, torch.Tensor):
        torch.empty(0, dtype=torch.uint8).set_(source.untyped_storage()).numpy()


def _capsule_of(source: Any) -> Any:
    if type(source).__name__ == "PyCapsule":
        return source
    export_it = getattr(source, "__dlpack__", None)
    if export_it is None:
        return None
    device = getattr(source, "__dlpack_device__", lambda: HOST)()
    try:
        kind, ordinal = map(int, device)
    except (TypeError, ValueError):
        message = f"__dlpack_device__ of {type(source).__name__} gives {device!r}, not two numbers"
        raise TypingError(Diagnostic("H0702", message)) from None
    options: dict[str, Any] = {}
    if kind in (CUDA, CUDA_MANAGED):
        options["stream"] = current_stream(get_device(f"cuda:{ordinal}")).cuda_stream
    elif kind not in _HOST_KINDS:
        raise _other_device((kind, ordinal))
    try:
        return export_it(max_version=(1, 0), **options)
    except TypeError:
        return export_it(**options)


def _other_device(device: tuple[int, ...]) -> LaunchError:
    return LaunchError(
        Diagnostic(
            "H0704",
            f"the tensor is on DLPack device {device}, neither the host {HOST} nor a CUDA GPU",
            hint="move it to the host first",
        )
    )


def _share(values: npt.NDArray[Any], element: Element | None, given: Scalar | None) -> array:
    """An array over numbers; ``given`` is their type where numpy has none for it."""
    scalar = given or scalar_of(values.dtype)
    wanted = None if element is None else leaves(element)[0]
    if scalar is not None and isinstance(element, Struct):
        raise TypingError(_wrong_type(scalar, element))
    if scalar is not None and wanted is not None and wanted is not scalar:
        raise TypingError(_wrong_type(scalar, element))
    if given is None:
        shared: array = array(values, dtype=element, copy=False)
        return shared
    carrier = u16 if element is None or isinstance(element, Scalar) else _with(element, u16)
    bits: array = array(values, dtype=carrier, copy=False)
    return bits.view(element or given)


def _with(element: Any, scalar: Scalar) -> Element:
    """The type of the same shape with other components."""
    changed: Element = replace(element, dtype=scalar)
    return changed


def _wrong_type(scalar: Scalar, element: Any) -> Diagnostic:
    return Diagnostic(
        "H0712",
        f"the tensor holds {scalar.public}, not {spell(element)}",
        hint="convert it first, or take it as it is and use .view(dtype)",
    )
