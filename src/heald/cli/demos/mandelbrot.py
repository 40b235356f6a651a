"""The Mandelbrot set, one thread a pixel, zooming in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import heald as wp
from heald.cli.demos.scene import Demo, Image, colours

LIMIT = 200
CENTRE = (-0.743643, 0.131825)


@wp.kernel
def iterate(centre_x: float, centre_y: float, scale: float, count: wp.array(dtype=int, ndim=2)):
    """How many iterations one pixel takes to leave."""
    i, j = wp.tid()
    half_x = float(count.shape[1]) * 0.5
    half_y = float(count.shape[0]) * 0.5
    cx = (float(j) - half_x) * scale + centre_x
    cy = (float(i) - half_y) * scale + centre_y
    x = 0.0
    y = 0.0
    n = 0
    while n < LIMIT and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    count[i, j] = n


class Zoom:
    """A picture that comes closer with every step."""

    def __init__(self, pixels: int, device: str) -> None:
        side = max(8, round(pixels**0.5))
        self.count = wp.zeros((side, side), dtype=int, device=device)
        self.scale = 3.0 / side
        self.device = device

    def step(self) -> None:
        """One picture, then a little closer."""
        inputs = [*CENTRE, self.scale, self.count]
        wp.launch(iterate, dim=self.count.shape, inputs=inputs, device=self.device)
        self.scale *= 0.9

    def measure(self) -> Mapping[str, float]:
        """The share of pixels that never left."""
        return {"inside": float((self.count.numpy() == LIMIT).mean())}

    def image(self) -> Image:
        """Iterations as colour."""
        return colours(np.log1p(self.count.numpy()), 0.0, float(np.log1p(LIMIT)))

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """The iterations of every pixel."""
        return {"count": self.count.numpy()}


MANDELBROT = Demo(
    name="mandelbrot",
    summary="a zoom into the Mandelbrot set",
    unit="pixels",
    size=512 * 512,
    check_size=64 * 64,
    check_steps=2,
    frames=40,
    steps=1,
    make=Zoom,
)
