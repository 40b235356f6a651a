"""What a demo is: something that steps, can be measured, drawn and stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
"""Rows, columns, red-green-blue; row 0 is at the top."""


class Scene(Protocol):
    """A running simulation on one device."""

    def step(self) -> None:
        """Advance by one time step."""

    def measure(self) -> Mapping[str, float]:
        """Quantities to show, by name with unit."""

    def image(self) -> Image:
        """A picture of the state."""

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Every array that decides what comes next."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo and its defaults.

    Attributes:
        name: what the command line calls it.
        summary: one line about it.
        unit: what ``size`` counts.
        size: how many of them by default.
        check_size: how many where the interpreter repeats it.
        check_steps: how many steps it repeats.
        frames: pictures by default; each is ``steps`` steps.
        steps: steps a frame.
        make: the scene of a size on a device.
    """

    name: str
    summary: str
    unit: str
    size: int
    check_size: int
    check_steps: int
    frames: int
    steps: int
    make: Callable[[int, str], Scene]


def colours(values: npt.NDArray[Any], low: float, high: float) -> Image:
    """Numbers as colours from dark blue over green to yellow; shape (..., 3)."""
    t = np.clip((values - low) / max(high - low, 1e-30), 0.0, 1.0)
    stops = np.array([[30, 30, 90], [40, 110, 160], [60, 180, 130], [250, 230, 80]], np.float64)
    position = t * (len(stops) - 1)
    k = np.minimum(position.astype(int), len(stops) - 2)
    part = (position - k)[..., None]
    mixed: Image = (stops[k] * (1 - part) + stops[k + 1] * part).astype(np.uint8)
    return mixed


def draw_points(
    points: npt.NDArray[Any], colour: Image, size: tuple[int, int], radius: int
) -> Image:
    """Squares at pixel positions ``points`` (n, 2), later ones over earlier ones."""
    height, width = size
    picture = np.full((height, width, 3), 16, np.uint8)
    at = np.rint(points).astype(int)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            x, y = at[:, 0] + dx, at[:, 1] + dy
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            picture[y[inside], x[inside]] = colour[inside]
    return picture
