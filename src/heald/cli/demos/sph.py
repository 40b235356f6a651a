"""A 3-D dam break by smoothed particle hydrodynamics.

Kernels and forces of Mueller, Charypar and Gross, "Particle-based fluid simulation for interactive
applications" (2003), sections 3.1 to 3.3 and 3.5; symplectic Euler; neighbours from a hash grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import heald as wp
from heald.cli.demos.scene import Demo, Image, colours, draw_points

BOX = (2.0, 1.0, 0.5)  # metres; y is up
COLUMN = (0.6, 0.8, 0.5)
REST_DENSITY = 1000.0  # kg/m^3
GRAVITY = -9.81  # m/s^2
VISCOSITY = 6.0  # Pa s
SOUND = 12.0  # m/s, the numerical speed of sound
BOUNCE = -0.3  # velocity factor at walls
SPACING_TO_RADIUS = 2.0
CELLS = 64


@wp.kernel
def compute_density(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    radius: float,
    mass: float,
    stiffness: float,
    density: wp.array(dtype=float),
    pressure: wp.array(dtype=float),
):
    """Density of each particle, and its pressure from an equation of state."""
    i = wp.tid()
    xi = x[i]
    h2 = radius * radius
    total = 0.0
    for j in wp.hash_grid_query(grid, xi, radius):
        d = xi - x[j]
        w = h2 - wp.dot(d, d)
        if w > 0.0:
            total += w * w * w
    h3 = h2 * radius
    rho = mass * total * 1.5666814 / (h3 * h3 * h3)  # poly6: 315 / (64 pi h^9)
    density[i] = rho
    pressure[i] = wp.max(stiffness * (rho - REST_DENSITY), 0.0)


@wp.kernel
def compute_acceleration(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    density: wp.array(dtype=float),
    pressure: wp.array(dtype=float),
    radius: float,
    mass: float,
    acceleration: wp.array(dtype=wp.vec3),
):
    """Pressure, viscosity and gravity on each particle."""
    i = wp.tid()
    xi = x[i]
    vi = v[i]
    push = wp.vec3()
    drag = wp.vec3()
    for j in wp.hash_grid_query(grid, xi, radius):
        d = xi - x[j]
        r2 = wp.dot(d, d)
        if r2 < radius * radius and r2 > 0.0:
            r = wp.sqrt(r2)
            w = radius - r
            per = 1.0 / density[j]
            push += d * ((pressure[i] + pressure[j]) * 0.5 * per * w * w / r)
            drag += (v[j] - vi) * (per * w)
    h6 = radius**2 * radius**2 * radius**2
    scale = mass * 14.323945 / h6  # 45 / (pi h^6)
    force = push * scale + drag * (VISCOSITY * scale)
    acceleration[i] = force / density[i] + wp.vec3(0.0, GRAVITY, 0.0)


@wp.func
def bounced(x: float, v: float, low: float, high: float):
    """A coordinate and its velocity after the walls."""
    if x < low:
        return low, v * BOUNCE
    if x > high:
        return high, v * BOUNCE
    return x, v


@wp.kernel
def advance(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    acceleration: wp.array(dtype=wp.vec3),
    dt: float,
    margin: float,
):
    """Symplectic Euler, and the walls of the box."""
    i = wp.tid()
    velocity = v[i] + acceleration[i] * dt
    place = x[i] + velocity * dt
    for k in wp.static(range(3)):
        place[k], velocity[k] = bounced(place[k], velocity[k], margin, BOX[k] - margin)
    x[i] = place
    v[i] = velocity


@wp.kernel
def compute_energy(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    mass: float,
    energy: wp.array(dtype=float),
):
    """Kinetic and potential energy of each particle."""
    i = wp.tid()
    energy[i] = mass * (0.5 * wp.dot(v[i], v[i]) - GRAVITY * x[i].y)


class DamBreak:
    """A column of water that collapses in a box."""

    def __init__(self, particles: int, device: str) -> None:
        volume = math.prod(COLUMN)
        self.spacing = (volume / particles) ** (1.0 / 3.0)
        self.radius = SPACING_TO_RADIUS * self.spacing
        self.mass = REST_DENSITY * volume / particles
        self.dt = 0.4 * self.radius / SOUND
        with wp.ScopedDevice(device):
            self.x = wp.array(_lattice(particles, self.spacing), dtype=wp.vec3)
            self.v = wp.zeros(particles, dtype=wp.vec3)
            self.acceleration = wp.zeros(particles, dtype=wp.vec3)
            self.density = wp.zeros(particles, dtype=float)
            self.pressure = wp.zeros(particles, dtype=float)
            self.energy = wp.zeros(particles, dtype=float)
            self.grid = wp.HashGrid(CELLS, CELLS, CELLS)
        self.device = device

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        wp.launch(kernel, dim=len(self.x), inputs=arguments, device=self.device)

    def step(self) -> None:
        """One time step of ``dt`` seconds."""
        x, v, radius, mass = self.x, self.v, self.radius, self.mass
        self.grid.build(x, radius)
        grid = self.grid.id
        stiffness = SOUND * SOUND
        self._launch(compute_density, grid, x, radius, mass, stiffness, self.density, self.pressure)
        self._launch(
            compute_acceleration,
            *(grid, x, v, self.density, self.pressure, radius, mass, self.acceleration),
        )
        self._launch(advance, x, v, self.acceleration, self.dt, 0.5 * self.spacing)

    def measure(self) -> Mapping[str, float]:
        """Mechanical energy in joules, highest speed in m/s, highest density in kg/m^3."""
        self._launch(compute_energy, self.x, self.v, self.mass, self.energy)
        speed = np.linalg.norm(self.v.numpy(), axis=1)
        return {
            "energy J": float(self.energy.numpy().sum(dtype=np.float64)),
            "speed m/s": float(speed.max()),
            "density kg/m3": float(self.density.numpy().max()),
        }

    def image(self) -> Image:
        """The box from the front; colour is speed."""
        x, v = self.x.numpy(), self.v.numpy()
        order = np.argsort(x[:, 2], kind="stable")
        x, speed = x[order], np.linalg.norm(v[order], axis=1)
        scale = 320
        pixels = np.stack([x[:, 0] * scale, (BOX[1] - x[:, 1]) * scale], axis=1)
        size = (int(BOX[1] * scale), int(BOX[0] * scale))
        radius = max(1, round(0.4 * self.spacing * scale))
        return draw_points(pixels, colours(speed, 0.0, 4.0), size, radius)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Positions and velocities, float32 of shape (n, 3)."""
        return {"x": self.x.numpy(), "v": self.v.numpy(), "density": self.density.numpy()}


def _lattice(particles: int, spacing: float) -> npt.NDArray[Any]:
    """The first ``particles`` points of a cubic lattice that fills the column from below."""
    across = max(1, int(COLUMN[0] / spacing + 0.5))
    deep = max(1, int(COLUMN[2] / spacing + 0.5))
    k = np.arange(particles)
    grid = np.stack([k % across, k // (across * deep), k // across % deep], axis=1)
    return ((grid + 0.5) * spacing).astype(np.float32)


SPH = Demo(
    name="sph",
    summary="3-D dam break, smoothed particle hydrodynamics on a hash grid",
    unit="particles",
    size=20_000,
    check_size=4_000,
    check_steps=3,
    frames=60,
    steps=10,
    make=DamBreak,
)
