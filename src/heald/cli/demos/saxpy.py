"""y = a x + y, over and over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import heald as wp
from heald.cli.demos.scene import Demo, Image, colours


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """One element: y = a x + y."""
    i = wp.tid()
    y[i] = a * x[i] + y[i]


class Saxpy:
    """Two arrays of floats."""

    def __init__(self, elements: int, device: str) -> None:
        self.x = wp.array(np.linspace(-1.0, 1.0, elements, dtype=np.float32), device=device)
        self.y = wp.zeros(elements, dtype=float, device=device)
        self.device = device

    def step(self) -> None:
        """One update of every element."""
        inputs = [0.001, self.x, self.y]
        wp.launch(saxpy, dim=len(self.x), inputs=inputs, device=self.device)

    def measure(self) -> Mapping[str, float]:
        """The largest element."""
        return {"largest": float(self.y.numpy().max())}

    def image(self) -> Image:
        """The elements as a strip of colours."""
        y = self.y.numpy()
        strip = y[np.linspace(0, len(y) - 1, 480).astype(int)]
        return np.repeat(colours(strip, -1.0, 1.0)[None], 60, axis=0)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Both arrays."""
        return {"x": self.x.numpy(), "y": self.y.numpy()}


SAXPY = Demo(
    name="saxpy",
    summary="y = a x + y on a long array",
    unit="elements",
    size=1_000_000,
    check_size=10_000,
    check_steps=10,
    frames=20,
    steps=10,
    make=Saxpy,
)
