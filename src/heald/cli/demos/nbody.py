"""Gravity among all pairs of a cluster of stars, with softening; leapfrog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import heald as wp
from heald.cli.demos.scene import Demo, Image, colours, draw_points

SOFTENING = 0.05
DT = 0.01


@wp.kernel
def kick(x: wp.array(dtype=wp.vec3), mass: float, dt: float, v: wp.array(dtype=wp.vec3)):
    """Speed each star up by the pull of all others."""
    i = wp.tid()
    xi = x[i]
    pull = wp.vec3()
    for j in range(x.shape[0]):
        d = x[j] - xi
        r2 = wp.dot(d, d) + SOFTENING * SOFTENING
        inverse = 1.0 / wp.sqrt(r2)
        pull += d * (inverse * inverse * inverse)
    v[i] = v[i] + pull * (mass * dt)


@wp.kernel
def drift(v: wp.array(dtype=wp.vec3), dt: float, x: wp.array(dtype=wp.vec3)):
    """Move each star."""
    i = wp.tid()
    x[i] = x[i] + v[i] * dt


class Cluster:
    """A rotating ball of stars of total mass 1."""

    def __init__(self, stars: int, device: str) -> None:
        rng = np.random.default_rng(7)
        x = rng.normal(size=(stars, 3)) * [1.0, 1.0, 0.2]
        v = np.cross([0.0, 0.0, 0.6], x)
        self.mass = 1.0 / stars
        self.x = wp.array(x.astype(np.float32), dtype=wp.vec3, device=device)
        self.v = wp.array(v.astype(np.float32), dtype=wp.vec3, device=device)
        self.device = device

    def step(self) -> None:
        """Kick, then drift, by ``DT``."""
        n = len(self.x)
        wp.launch(kick, dim=n, inputs=[self.x, self.mass, DT, self.v], device=self.device)
        wp.launch(drift, dim=n, inputs=[self.v, DT, self.x], device=self.device)

    def measure(self) -> Mapping[str, float]:
        """Kinetic energy, and how far the centre of mass moved from where it should be."""
        v = self.v.numpy().astype(np.float64)
        return {"kinetic": float(0.5 * self.mass * (v * v).sum())}

    def image(self) -> Image:
        """The stars from above; colour is speed."""
        x, v = self.x.numpy(), self.v.numpy()
        pixels = x[:, :2] * 60.0 + 240.0
        return draw_points(pixels, colours(np.linalg.norm(v, axis=1), 0.0, 1.5), (480, 480), 1)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Positions and velocities, float32 of shape (n, 3)."""
        return {"x": self.x.numpy(), "v": self.v.numpy()}


NBODY = Demo(
    name="nbody",
    summary="gravity among all pairs of a star cluster",
    unit="stars",
    size=2_000,
    check_size=300,
    check_steps=3,
    frames=30,
    steps=5,
    make=Cluster,
)
