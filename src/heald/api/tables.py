"""Tables: arrays of fixed shape and type that kernels capture, and whose contents may change."""

from __future__ import annotations

from typing import Any

import numpy as np

from heald.api.array import array, new_array
from heald.api.device_memory import finish, is_capturing, write_now
from heald.api.edge import unguarded
from heald.diagnostics import Diagnostic, LaunchError
from heald.forks import ForkSafeLock
from heald.runtime import Device
from heald.types import Array, Scalar, as_concrete

_MAX_RANK = 4


class Table:
    """What ``wp.constant`` makes of a numpy array: kernels read it by its name.

    Shape and type are compiled in, the contents are not: :meth:`assign` takes effect at the next
    launch, without compiling.  Kernels cannot write to it.

    Attributes:
        shape: fixed.
        dtype: the element type.
    """

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        scalar = as_concrete(values.dtype.type)
        if not isinstance(scalar, Scalar) or not 1 <= values.ndim <= _MAX_RANK or not values.size:
            raise _refused(
                f"a table has one to {_MAX_RANK} dimensions and elements of a number type, not "
                f"shape {values.shape} of {values.dtype}"
            )
        self._type = Array(scalar, values.ndim)
        self._host: array = array(np.array(values, order="C"), device="cpu")
        self._copies: dict[Device, array] = {}
        self._lock = ForkSafeLock()
        self.shape = values.shape
        self.dtype = self._host.dtype

    @property
    def __heald_table__(self) -> Array:
        """What kernels take it for."""
        return self._type

    @unguarded
    def on(self, device: Device) -> array:
        """Its contents where kernels of a device read them, on whatever stream they run."""
        if device is self._host.device:
            return self._host
        with self._lock:
            if device not in self._copies:
                if is_capturing(device):
                    made = new_array(self._host.element_type, self.shape, device)
                    write_now(device, made.address, self._host.numpy())
                else:
                    made = self._host.to(device)
                    finish(device)
                self._copies[device] = made
            return self._copies[device]

    def assign(self, values: Any) -> None:
        """Change all contents; launches from now on see them, those before do not.

        So it waits until GPUs that have read the table have done all that they were given.

        Args:
            values: of the same shape, of a type that numpy converts without loss of kind.

        Raises:
            LaunchError: another shape or kind of numbers (H0711); nothing has changed.
            TypingError: numbers that the type does not hold (H0712); nothing has changed.
            KernelFault: a launch on one of those GPUs has failed; nothing has changed.
            DeviceError: a stream of one is being captured (H0811); nothing has changed.
        """
        given = np.asarray(values)
        own = self._host.numpy()
        integers = given.dtype.kind in "iu" and own.dtype.kind in "iu"
        fits = integers or np.can_cast(given.dtype, own.dtype, "same_kind")
        if given.shape != self.shape or not fits:
            raise _refused(
                f"a table of shape {self.shape} and {own.dtype} cannot take shape {given.shape} "
                f"of {given.dtype}",
                hint="shape and type are compiled in; make another table with wp.constant",
            )
        fresh = self._host.clone().assign(values).numpy()
        with self._lock:
            for device in self._copies:
                finish(device)
            own[...] = fresh
            for device, copied in self._copies.items():
                copied.assign(self._host)
                finish(device)

    def numpy(self) -> np.ndarray[Any, Any]:
        """The contents, a copy."""
        return np.array(self._host.numpy())

    def __len__(self) -> int:
        """The first extent."""
        return int(self.shape[0])

    def __repr__(self) -> str:
        return f"<table of shape {self.shape}, {self._type.dtype}>"


def _refused(message: str, hint: str = "") -> LaunchError:
    return LaunchError(Diagnostic("H0711", message, hint=hint))
