"""What users promise of array parameters in annotations: shapes, contents, and how they are used.

Sizes are texts, ``"n"`` or ``"2 * n + 1"``: sums and products of numbers, of names that shapes
give, of by-value integer parameters, of ``dim[0]`` and of ``a.shape[0]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ACCESS = ("read", "write", "readwrite")
"""How a kernel may use an array."""


@dataclass(frozen=True, slots=True)
class Elements:
    """Every element lies between ``low`` and ``high``, both included."""

    low: str
    high: str
    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Contract:
    """What is promised of one array parameter.

    Attributes:
        shape: one size for each axis, or None.
        elements: between which numbers its elements lie, or None.
        monotone: whether elements never fall from one index to the next.
        injective: whether elements differ from each other.
        access: one of ``ACCESS``, or nothing.
        fixed: whether it is a table, whose shape is compiled in: no launch has another.
    """

    shape: tuple[str, ...] | None = None
    elements: Elements | None = None
    monotone: bool = False
    injective: bool = False
    access: str = ""
    fixed: bool = False

    @property
    def speaks_of_contents(self) -> bool:
        """Does it promise anything that changes when elements do?"""
        return self.elements is not None or self.monotone or self.injective


@dataclass(frozen=True, slots=True)
class Contracted:
    """An annotation with a contract; everywhere else it is the type or pattern of the array."""

    pattern: Any
    contract: Contract

    @property
    def __heald_type__(self) -> Any:
        return self.pattern


def contract_of(annotation: object) -> Contract | None:
    """The contract of an annotation, where it has one."""
    return annotation.contract if isinstance(annotation, Contracted) else None
