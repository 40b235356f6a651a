"""Intrinsics: names that the front end lowers by itself.

``machine.fsqrt(x)`` in a library function is the machine op ``fsqrt``; nothing is contracted or
converted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar


@dataclass(frozen=True, slots=True)
class MachineOp:
    """A value op, callable in kernel-language code only; keyword arguments are its attributes."""

    name: str

    def __call__(self, *operands: Any, **attrs: Any) -> NoReturn:
        """Refuse: machine ops have no meaning on the host."""
        raise TypeError(f"machine.{self.name} can be called in kernel-language code only")


def __getattr__(name: str) -> MachineOp:
    from heald.ops import TABLE  # noqa: PLC0415 - the table comes with the compiler

    if name in TABLE:
        return MachineOp(name)
    raise AttributeError(f"there is no machine op {name!r}")


_Function = TypeVar("_Function", bound=Callable[..., Any])


def intrinsic(name: str) -> Callable[[_Function], _Function]:
    """Marks a host object as the one that kernels know as intrinsic ``name``."""

    def mark(function: _Function) -> _Function:
        function.__heald_intrinsic__ = name  # type: ignore[attr-defined]
        return function

    return mark
