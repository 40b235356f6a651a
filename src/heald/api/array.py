"""Arrays: typed, strided memory of a device that kernels read and write."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from importlib import import_module
from math import prod
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.api.array_contracts import contracted, is_promise
from heald.api.array_input import (
    Elements,
    bad_shape,
    check_pointer,
    check_shape,
    check_sharing,
    element_of,
    has_memory,
    is_single,
    pin_memory,
    read_data,
    refuse_gradients,
)
from heald.api.array_memory import ArrayMemory, overlap
from heald.api.array_types import annotation, annotation_key, is_type
from heald.api.array_views import reshape_extents, transpose_layout, view_layout
from heald.api.device_memory import (
    after_work,
    copy_by_gpu,
    fill_on_gpu,
    is_pinned,
    new_memory,
    read_bytes,
    settle,
    write_bytes,
)
from heald.api.foreign import ForeignArray, adopt, is_on_gpu
from heald.api.foreign_streams import let_wait
from heald.api.indexing import find_view, key_text
from heald.api.scalars import describe, is_number
from heald.api.struct import make_value, spell, take_leaves
from heald.diagnostics import Diagnostic, LaunchError, TypingError
from heald.runtime import (
    Device,
    ForeignMemory,
    byte_size,
    byte_span,
    codec_of,
    contiguous_strides,
    empty_memory,
    get_device,
    pack_array,
)
from heald.types import (
    Pattern,
    Scalar,
    Struct,
    size_of,
)
from heald.types.descriptors import Element

NDArray = npt.NDArray[Any]
_MOVING = "heald.api.moving"
"""It is made of arrays and kernels."""
Key = int | slice | EllipsisType | tuple[Any, ...]


class array(ArrayMemory):  # noqa: N801 - the name that users know
    """An array of 1 to 4 dimensions on a device.

    ``wp.array(data, dtype=..., shape=..., device=...)`` copies data: lists, numpy arrays, host
    values, other arrays.  Without ``dtype``, Python floats become float32 and ints int32, and numpy
    arrays keep their type.  ``copy=False`` shares the memory of a numpy array.  ``shape=`` without
    data gives memory with unspecified contents; ``ptr=`` describes memory of somebody else, which
    must outlive the array.

    In annotations, ``wp.array(dtype=float, ndim=2)``, ``wp.array(float)`` and ``wp.array[float]``
    are the types of parameters, and may hold contracts: ``shape=("n", 3)`` with names of sizes,
    ``elem=wp.index("n")`` for elements from 0 to n - 1, ``monotone=True``, ``injective=True``,
    ``access="read"``.

    Args:
        data: what to copy or share.
        dtype: the element type: a scalar type, vector, matrix, quaternion, transformation or
            struct.
        shape: extents; data is reshaped to them.
        strides: byte strides of the memory at ``ptr``.
        ptr: address of element (0, ..., 0).
        device: where the array lives; the current device by default.
        copy: False shares the memory of ``data``, which must be a numpy array or another buffer
            (memoryview, mmap, bytearray) that needs no conversion.
        deleter: called with ``ptr`` and the number of bytes when nothing uses the memory at ``ptr``
            any more: no array, no view, no numpy array made of them.
        ndim: number of dimensions, checked.
        requires_grad: must be False.
        pinned: in memory of the host that GPUs copy from and to while the host goes on.
        elem: in annotations, between which numbers elements lie: :func:`index`, :func:`within`.
        monotone: in annotations, elements never fall from one index to the next.
        injective: in annotations, elements differ from each other.
        access: in annotations, ``"read"``, ``"write"`` or ``"readwrite"``: how kernels use it.

    Raises:
        TypingError: data or dtype is of a wrong type, or numbers do not fit (H0207, H0712).
        LaunchError: a shape that cannot be (H0711), or memory of another device that is to be
            shared (H0704).
        DeviceError: unknown device, or not enough memory (H0801, H0802).
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any = None,
        dtype: Any = None,
        shape: Any = None,
        *,
        strides: Any = None,
        ptr: int | None = None,
        device: Any = None,
        copy: bool = True,
        deleter: Callable[[int, int], object] | None = None,
        ndim: Any = None,
        requires_grad: bool = False,
        pinned: bool = False,
        elem: Any = None,
        monotone: bool = False,
        injective: bool = False,
        access: str | None = None,
    ) -> Any:
        """An array, or without data, shape and ptr the type of one."""
        refuse_gradients(requires_grad)
        if is_promise(shape) or monotone or injective or not (elem is None and access is None):
            element = data if dtype is None else dtype
            return contracted(element, ndim, shape, elem, monotone, injective, access)
        if data is None and shape is None and ptr is None:
            return annotation(dtype, ndim)
        if is_type(data):
            if dtype is not None or shape is not None:
                raise TypingError(
                    Diagnostic(
                        "H0207",
                        "an array annotation takes an element type and a number of dimensions",
                        hint="write wp.array(dtype=float, ndim=2)",
                    )
                )
            return annotation(data, ndim)
        element = None if dtype is None or dtype is typing.Any else element_of(dtype)
        extents = None if shape is None else check_shape(shape)
        if strides is not None and ptr is None:
            raise bad_shape("strides= describes memory at ptr=, which is missing")
        if deleter is not None and ptr is None:
            raise bad_shape("deleter= gives memory at ptr= back, which is missing")
        if deleter is not None and not callable(deleter):
            raise TypingError(
                Diagnostic(
                    "H0702",
                    f"deleter= is called with an address and a number of bytes; "
                    f"{describe(deleter)} cannot be called",
                )
            )
        if device is None and is_on_gpu(data):
            device = adopt(data, None).device
        place = get_device(device)
        if ptr is not None:
            made = _from_ptr(data, ptr, element, extents, strides, place, deleter)
        elif data is not None:
            made = _from_data(data, element, extents, place, copy, pinned)
        else:
            assert extents is not None
            made = new_array(element or element_of(float), extents, place, pinned=pinned)
        if ndim is not None and made.ndim != ndim:
            raise LaunchError(
                Diagnostic("H0703", f"ndim={ndim}, but the data has {made.ndim} dimensions")
            )
        return made

    def __class_getitem__(cls, key: Any) -> Pattern:
        """``wp.array[float]`` and ``wp.array[float, 2]`` in annotations."""
        return annotation(*annotation_key(key))

    # -- elements and views ------------------------------------------------------------------------

    def __getitem__(self, key: Key) -> Any:
        """One element as a Python number or host value (a copy), or a view of the same memory."""
        offset, shape, strides = find_view(key, self._shape, self._strides)
        if shape:
            return self._view(self._ptr + offset, shape, strides)
        settle(self._owner)
        codec = codec_of(self._element)
        data = read_bytes(self._device, self._ptr + offset, codec.itemsize)
        return make_value(self._element, codec.decode(data), f"element {key_text(key)} of an array")

    def __setitem__(self, key: Key, value: Any) -> None:
        """Assign an element; or all elements of a view, from one value or from as many."""
        self._check_writable()
        offset, shape, strides = find_view(key, self._shape, self._strides)
        if shape:
            view = self._view(self._ptr + offset, shape, strides)
            if is_single(value):
                view.fill_(value)
            else:
                view.assign(value)
            return
        data = self._encode(value, f"element {key_text(key)} of an array of {spell(self._element)}")
        settle(self._owner)
        write_bytes(self._device, self._ptr + offset, data)
        self._mark_written(offset, offset + len(data))

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def reshape(self, *shape: Any) -> array:
        """A view of a contiguous array with another shape of equal size; one extent may be -1.

        Raises:
            LaunchError: the array is not contiguous, or the sizes differ (H0711).
        """
        extents = reshape_extents(shape[0] if len(shape) == 1 else shape, self._shape)
        if not self.is_contiguous:
            raise bad_shape(
                f"an array with gaps (strides {self._strides}) cannot be reshaped without a copy",
                "use a.contiguous().reshape(...)",
            )
        return self._view(self._ptr, extents, contiguous_strides(extents, self.itemsize))

    def transpose(self, axes: Any = None) -> array:
        """A view with the dimensions in the order of ``axes``, in reverse by default.

        Raises:
            LaunchError: ``axes`` do not name each dimension once (H0711).
        """
        return self._view(self._ptr, *transpose_layout((self._shape, self._strides), axes))

    def view(self, dtype: Any) -> array:
        """The same bytes as elements of another type.

        Elements of equal size keep their shape.  Smaller ones split the elements of the last
        dimension, larger ones join them, where these lie side by side.

        Raises:
            TypingError: no element type (H0207), sizes that do not suit, or memory that is not
                aligned for it (H0712).
        """
        element = element_of(dtype)
        layout = view_layout(self._element, element, self._ptr, (self._shape, self._strides))
        return make_array(
            element, self._ptr, *layout, self._device, self._owner, read_only=self._read_only
        )

    def flatten(self) -> array:
        """A view of a contiguous array with one dimension.

        Raises:
            LaunchError: the array is not contiguous (H0711).
        """
        return self.reshape(self.size)

    def contiguous(self) -> array:
        """This array if it is contiguous, else a contiguous copy."""
        return self if self.is_contiguous else self.clone()

    def _view(self, ptr: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> array:
        return make_array(
            self._element, ptr, shape, strides, self._device, self._owner, read_only=self._read_only
        )

    # -- contents ----------------------------------------------------------------------------------

    def list(self) -> list[Any]:
        """All elements in order, as Python numbers or host values."""
        if self._device.is_cuda:
            return self.to("cpu").list()
        if isinstance(self._element, Scalar):
            return self.numpy().ravel().tolist()
        flat = self.contiguous().flatten()
        return [flat[k] for k in range(flat.size)]

    def fill_(self, value: Any) -> array:
        """Set every element to one value, and return the array.  A number fills whole vectors and
        matrices.

        Raises:
            TypingError: the value is of another type (H0201) or does not fit (H0202).
            LaunchError: the array is read-only (H0705).
        """
        self._check_writable()
        if isinstance(self._element, Struct) and is_number(value) and value == 0:
            return self.zero_()
        self._repeat(self._encode(value, f"an array of {spell(self._element)}"))
        return self

    def zero_(self) -> array:
        """Set every element to zero, and return the array.

        Raises:
            LaunchError: the array is read-only (H0705).
        """
        self._check_writable()
        self._repeat(bytes(self.itemsize))
        return self

    def _repeat(self, element: bytes) -> None:
        if fill_on_gpu(self._bytes(), (self._shape, self._strides), element):
            return
        if self._device.is_cuda and not self.is_contiguous:
            one = new_array(self._element, (1,) * self.ndim, self._device)
            one._repeat(element)
            self._copy(one._view(one._ptr, self._shape, (0,) * self.ndim))
            return
        raw = self.raw(fresh=True)
        self._put(raw, np.frombuffer(element, raw.dtype)[0])

    def assign(self, source: Any) -> array:
        """Copy from an array, or from anything an array can be made of, of the same shape.

        Raises:
            TypingError: it does not make elements of this type, or lists a number that they cannot
                hold (H0712).
            LaunchError: another shape (H0711), or this array is read-only (H0705).
        """
        self._check_writable()
        if isinstance(source, array) and source._element is self._element:
            if source._shape != self._shape:
                raise bad_shape(
                    f"an array of shape {self._shape} cannot be assigned shape {source._shape}"
                )
            self._copy(source)
            return self
        given = _read(source, self._element, None, convert=False)
        if given.shape != self._shape:
            raise bad_shape(
                f"an array of shape {self._shape} cannot be assigned data of shape {given.shape}",
                "a single value for all elements is set with fill_",
            )
        self._put(self.carriers(fresh=True), given.values)
        return self

    def _copy(self, source: array) -> None:
        """Copy all elements of an array of the same shape and element type."""
        within = self._device.is_cuda and self._device == source._device
        if within and overlap(self, source):
            source = source.clone()
        plain = self.is_contiguous and source.is_contiguous
        if plain and copy_by_gpu(self._bytes(), source._bytes()):
            return
        if not (within and import_module(_MOVING).move(self, source)):
            self._put(self.raw(fresh=True), source.raw())

    def clone(self, device: Any = None, *, pinned: bool = False) -> array:
        """A contiguous copy, on the same device or another; ``pinned`` as in :class:`array`."""
        place = self._device if device is None else get_device(device)
        return new_array(self._element, self._shape, place, pinned=pinned).assign(self)

    def to(self, device: Any) -> array:
        """This array if it lives on ``device``, else a copy there."""
        place = get_device(device)
        return self if place == self._device else self.clone(place)

    def _encode(self, value: Any, what: str) -> bytes:
        return codec_of(self._element).encode(take_leaves(self._element, value, what))

    # -- Python protocols --------------------------------------------------------------------------

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule that shares the memory, the axes of vectors and matrices last.

        ``stream``, ``max_version``, ``dl_device`` and ``copy`` as DLPack says.

        Raises:
            BufferError: structs; another device; read-only memory where ``max_version`` is too old
                to say so.
        """
        from heald.api.dlpack import export  # noqa: PLC0415 - it is made of arrays

        return export(self, options)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles take the elements along: the address means nothing to them.
        element = self.dtype if isinstance(self._element, Struct) else self._element
        content = np.ascontiguousarray(self.raw()).tobytes()
        return _restore, (element, self._shape, content, self._device.alias)


def _restore(dtype: Any, shape: tuple[int, ...], content: bytes, device: str) -> array:
    made = new_array(element_of(dtype), shape, get_device(device))
    if content:
        write_bytes(made.device, made.ptr, content)
    return made


# -- construction ----------------------------------------------------------------------------------


def make_array(
    element: Element,
    ptr: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    device: Device,
    owner: object,
    *,
    read_only: bool = False,
) -> array:
    """An array over memory that is known to hold its elements and to live as long as ``owner``.

    Everything that makes arrays ends here.  The stride of a dimension with one element is never
    used, so it is set to what a contiguous array has; an array without elements points to zeros of
    its own.
    """
    made = object.__new__(array)
    made._element = element
    made._shape = shape
    made._device = device
    made._read_only = read_only
    itemsize = size_of(element)
    natural = contiguous_strides(shape, itemsize)
    if 0 in shape:
        owner = empty_memory(itemsize)
        ptr = owner.ptr
        strides = natural
    made._strides = tuple(
        stride if extent > 1 else usual
        for extent, stride, usual in zip(shape, strides, natural, strict=True)
    )
    made._ptr = ptr
    made._owner = owner
    if is_pinned(owner):
        return made  # launch entries, which do not wait for copies, refuse it
    made.packed = pack_array(element, device, ptr, shape, made._strides, read_only=read_only)
    return made


def new_array(
    element: Element,
    shape: tuple[int, ...],
    device: Device,
    *,
    zeroed: bool = False,
    pinned: bool = False,
) -> array:
    """A contiguous array in new memory, with unspecified contents unless ``zeroed``.  The
    interpreter reports reads of what was never written.

    Raises:
        DeviceError: not enough memory (H0802).
    """
    itemsize = size_of(element)
    size = byte_size(shape, itemsize)
    ptr, memory = new_memory(device, size, zeroed=zeroed, pinned=pinned)
    strides = contiguous_strides(shape, itemsize)
    return make_array(element, ptr, shape, strides, device, memory)


def _from_data(
    data: Any,
    element: Element | None,
    shape: tuple[int, ...] | None,
    device: Device,
    copy: bool,
    pinned: bool,
) -> array:
    if is_on_gpu(data):
        return _from_gpu(data, element, shape, device, copy)
    given = _read(data, element, shape)
    if copy or not has_memory(data):
        # Copying records skips the bytes between their fields; zeros make those the same always.
        padded = isinstance(given.element, Struct)
        made = new_array(given.element, given.shape, device, zeroed=padded, pinned=pinned)
        made._put(made.carriers(fresh=True), given.values)
        return made
    if device.is_cuda:
        raise LaunchError(
            Diagnostic(
                "H0704",
                f"memory of the host cannot be shared with '{device}'",
                hint=f"copy it there: wp.array(data, device='{device}')",
            )
        )
    return _share(data, given, device)


def _from_gpu(
    data: Any, element: Element | None, shape: tuple[int, ...] | None, device: Device, copy: bool
) -> array:
    """Memory of a GPU that another library has."""
    memory = adopt(data, element)
    shared = make_foreign(memory)
    shared = shared if shape is None else shared.reshape(shape)
    if copy:
        made = shared.clone(device)
        if memory.stream is not None:  # it may use the memory again when the copy is done
            let_wait(memory.device, memory.stream)
        return made
    if shared.device != device:
        raise LaunchError(
            Diagnostic(
                "H0704",
                f"memory of '{shared.device}' cannot be shared with '{device}'",
                hint=f"copy it there: wp.array(data, device='{device}')",
            )
        )
    return shared


def make_foreign(memory: ForeignArray) -> array:
    """An array over memory of another library."""
    return make_array(
        memory.element,
        memory.ptr,
        memory.shape,
        memory.strides,
        memory.device,
        memory.owner,
        read_only=memory.read_only,
    )


def _read(
    data: Any, element: Element | None, shape: tuple[int, ...] | None, *, convert: bool = True
) -> Elements:
    if isinstance(getattr(type(data), "element_type", None), property) and not isinstance(
        data, array
    ):
        data = data.contiguous()  # an indexed array
    if is_on_gpu(data):
        data = make_foreign(adopt(data, None))
    if not isinstance(data, array):
        return read_data(data, element, shape, convert=convert)
    if element is not None and element is not data._element:
        return read_data(data.numpy(), element, shape)
    values = data.carriers()
    if shape is None:
        return Elements(values, data._element, data._shape)
    if prod(shape) != data.size:
        raise bad_shape(f"{data.size} elements of shape {data._shape} do not make {shape}")
    return Elements(values.reshape(shape + values.shape[data.ndim :]), data._element, shape)


def _share(data: Any, given: Elements, device: Device) -> array:
    values = given.values
    check_sharing(given, np.asarray(data.carriers() if isinstance(data, array) else data))
    return make_array(
        given.element,
        values.ctypes.data,
        given.shape,
        values.strides[: len(given.shape)],
        device,
        (data, values, pin_memory(values)),
        read_only=not values.flags.writeable,
    )


def _from_ptr(
    data: Any,
    ptr: int,
    element: Element | None,
    shape: tuple[int, ...] | None,
    strides: Any,
    device: Device,
    deleter: Callable[[int, int], object] | None,
) -> array:
    if data is not None:
        raise bad_shape("an array is made of data or of memory at ptr=, not of both")
    if shape is None or element is None:
        raise bad_shape("ptr= needs shape= and dtype= to say what lies there")
    steps = check_pointer(ptr, element, shape, strides)
    owner = None
    if deleter is not None:
        low, high = byte_span(shape, steps, size_of(element))
        owner = ForeignMemory(ptr, high - low, after_work(device, deleter))
    return make_array(element, ptr, shape, steps, device, owner)
