"""What variants of a program take for granted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """What a variant takes for granted.

    Attributes:
        bounds: accesses that were proved under the launch condition are in bounds.
        unit: arrays are dense along their last axis and within 2^31 bytes.
        apart: what the kernel writes overlaps nothing else.
        shapes: arrays have the shapes of their contracts, as all launches have; code is the same.
        few: the launch is too small for lanes on a GPU; the code does for all, but larger ones have
            faster.
    """

    bounds: bool = False
    unit: bool = False
    apart: bool = False
    shapes: bool = False
    few: bool = False

    @property
    def name(self) -> str:
        """Tells it from the other variants of a program, but for ``few``."""
        return f"bounds={self.bounds:d} unit={self.unit:d} apart={self.apart:d}"
