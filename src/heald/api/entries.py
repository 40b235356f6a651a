"""Launch entries of kernels: machine code through which launches with known argument types go."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from heald.api.adapt import adapt_argument
from heald.api.array import array
from heald.api.host_value import value_class
from heald.api.indexed import indexedarray
from heald.artifact import Parameter
from heald.config import config
from heald.diagnostics import HealdError
from heald.driver import ArrayArgument, HostClasses, Pack, Program, entry_of, is_pinned, misaligned
from heald.runtime import Device, Packer
from heald.types import is_generic, size_of

if TYPE_CHECKING:
    from heald.api.kernel import Kernel

_HOST = HostClasses(array, "packed", "_owner", value_class, "_leaves")
_WIDE_EXTENT = 1 << 31
_MOST_ENTRIES = 4
"""Entries that a kernel keeps, for as many combinations of argument types."""


def keep_entry(
    kernel: Kernel, program: Program, device: Device, revision: object, *, ahead: bool = False
) -> None:
    """Make the entry through which later launches with such arguments go.

    The first launch makes none unless it was prepared (``ahead``): most kernels of a program run
    once.
    """
    if (program.launches < 2 and not ahead) or program.has_wide_index:
        return
    if config.debug or config.hints or (device.is_cuda and config.verify_cuda):
        return  # those see every launch
    known_revision, known = kernel.entries
    others = known if known_revision is revision else ()
    if any(e.program is program and e.device is device and e.is_current for e in others):
        return
    strict = [is_generic(pattern) for _, pattern in kernel.parameters]
    strict += [False] * len(program.tables)
    made = entry_of(program, device, strict, _HOST, partial(_packer, kernel, device))
    if made is not None:
        others = tuple(e for e in others if e.program is not program or e.device is not device)
        kernel.entries = (revision, (made, *others[: _MOST_ENTRIES - 1]))


def _packer(
    kernel: Kernel, device: Device, index: int, parameter: Parameter, written: bool
) -> Pack:
    """How to make bytes of what a parameter takes that entries do not understand.

    They give None where the careful path has to refuse or to do something else.
    """
    packer = Packer([replace(parameter, offset=0)], size_of(parameter.type))

    def pack(value: object) -> tuple[bytes, object] | None:
        if type(value) is indexedarray:
            known = value.packed
            if known is not None and value.__heald_type__ is parameter.type:
                fits = value.device is device and not (written and value.data.read_only)
                return (known, value) if fits else None
        if index >= len(kernel.parameters):
            return None  # a table, which entries understand
        try:
            argument = adapt_argument(kernel, index, parameter.type, value, device)
        except HealdError:
            return None
        for leaf in argument.leaves:
            if isinstance(leaf, ArrayArgument) and (
                max(leaf.shape) >= _WIDE_EXTENT or (written and leaf.read_only)
            ):
                return None
        if misaligned(argument) is not None if device.is_cuda else is_pinned(argument):
            return None
        packed = packer.pack(argument.words())
        if type(value) is indexedarray:
            value.packed = packed
        return packed, argument

    return pack
