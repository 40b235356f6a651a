"""Waves on a pond: the wave equation in two dimensions, second differences in space and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import heald as wp
from heald.cli.demos.scene import Demo, Image, colours

COURANT2 = 0.25  # (c dt / dx)^2
DAMPING = 0.999


@wp.kernel
def propagate(
    before: wp.array(dtype=float, ndim=2),
    now: wp.array(dtype=float, ndim=2),
    after: wp.array(dtype=float, ndim=2),
):
    """One time step of one cell; the rim stays at zero."""
    i, j = wp.tid()
    if i == 0 or j == 0 or i == now.shape[0] - 1 or j == now.shape[1] - 1:
        after[i, j] = 0.0
        return
    around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
    curvature = around - 4.0 * now[i, j]
    after[i, j] = (2.0 * now[i, j] - before[i, j] + COURANT2 * curvature) * DAMPING


class Pond:
    """A square pond with two drops falling into it."""

    def __init__(self, cells: int, device: str) -> None:
        side = max(8, round(cells**0.5))
        x, y = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side), indexing="ij")
        drops = sum(
            np.exp(-((x - a) ** 2 + (y - b) ** 2) * 800) for a, b in ((0.3, 0.4), (0.7, 0.6))
        )
        height = np.asarray(drops, np.float32)
        self.levels = [wp.array(height, device=device) for _ in range(3)]
        self.device = device

    def step(self) -> None:
        """One time step; the three levels change places."""
        before, now, after = self.levels
        wp.launch(propagate, dim=now.shape, inputs=[before, now, after], device=self.device)
        self.levels = [now, after, before]

    def measure(self) -> Mapping[str, float]:
        """The highest crest."""
        return {"crest": float(self.levels[1].numpy().max())}

    def image(self) -> Image:
        """Height as colour."""
        return colours(self.levels[1].numpy(), -0.3, 0.5)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """The last two levels."""
        return {"before": self.levels[0].numpy(), "now": self.levels[1].numpy()}


WAVE = Demo(
    name="wave",
    summary="the wave equation on a square pond",
    unit="cells",
    size=512 * 512,
    check_size=64 * 64,
    check_steps=10,
    frames=40,
    steps=10,
    make=Pond,
)
