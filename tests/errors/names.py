# ruff: noqa
# fmt: off
"""Names that mean nothing, or not everywhere."""

import enum
from types import SimpleNamespace

import numpy as np

import heald as wp


class Colour(enum.Enum):
    RED = 1


class Settings:
    gain = 2.0

    @property
    def broken(self):
        raise RuntimeError("no gain today")


@wp.struct
class Particle:
    position: wp.vec3
    mass: float


@wp.struct
class Cloud:
    points: wp.array(dtype=wp.vec3)
    count: int


settings = Settings()
cloud = Cloud()
table = np.arange(4.0)
field = wp.zeros(4, dtype=float)
lookup = {"water": 1.0}
day = np.datetime64("2026-01-01")
limit = 5


@wp.kernel
def undefined(a: wp.array(dtype=float), scale: float):
    i = wp.tid()
    a[i] = sclae * a[i]  #~ H0301
    a[i] = whatever  #~ H0301
    b = a[i] + missing + other  #~ H0301
    a[i] = b  # nothing more is said of b


@wp.kernel
def attributes(a: wp.array(dtype=float), p: Particle, v: wp.vec3):
    a[0] = p.pozition.x  #~ H0303
    a[1] = v.w  #~ H0303
    a[2] = wp.sinus(a[2])  #~ H0303
    a[3] = wp.clmap(a[3], 0.0, 1.0)  #~ H0303
    a[4] = float(Colour.GREEN.value)  #~ H0303
    a[5] = float(a.sahpe[0])  #~ H0303
    a[6] = settings.broken  #~ H0303
    a[7] = a[7].real  #~ H0303
    a[8] = float(a.shape.ndim)  #~ H0303
    p.velocity = v  #~ H0303


@wp.kernel
def names_of_warp(a: wp.array(dtype=float)):
    a[0] = wp.math  #~ H0303


@wp.kernel
def set_on_one_path(a: wp.array(dtype=float), n: int):
    if n > 0:
        x = 1.0
    a[0] = x  #~ H0302
    if n > 1:
        p = Particle()
    elif n > 2:
        p = Particle(mass=2.0)
    a[1] = p.mass  #~ H0302
    if n > 3:
        row = a[1:]
    a[2] = row[0]  #~ H0302


@wp.kernel
def set_in_a_loop(a: wp.array(dtype=float), n: int):
    for i in range(n):
        last = a[i]
    a[0] = last  #~ H0302
    a[1] = float(i)  #~ H0302
    while n > 0:
        n -= 1
        seen = 1.0
    a[2] = seen  #~ H0302
    while True:
        found = a[3]
        if found > 0.0:
            break
    a[4] = found  #~ H0302


@wp.kernel
def read_before(a: wp.array(dtype=float), n: int):
    total += a[0]  #~ H0302
    a[0] = float(limit)  #~ H0302
    limit = n
    count: int
    a[1] = float(count)  #~ H0302
    if n > 0:
        y = 1.0
        while n > 1:
            n -= 1
            a[2] = z  #~ H0302
            z = y


@wp.kernel
def carried(a: wp.array(dtype=float, ndim=2), n: int):
    pair = (1.0, 2.0)
    row = a[0]
    for i in range(n):
        x, y = pair  #~ H0204
        pair = (y, x)
        a[i, 0] = row[0]  #~ H0204
        row = a[i]
    if n > 5:
        late = 1.0
    for i in range(n):
        if n > 6:
            continue
        late = late + 1.0  #~ H0302


@wp.kernel
def captured(a: wp.array(dtype=float)):
    a[0] = table[0]  #~ H0304
    a[1] = field[0]  #~ H0304
    a[2] = lookup["water"]  #~ H0304
    a[3] = a[3] + table  #~ H0304
    a[4] = float(day)  #~ H0304
    a[5] = float(cloud.count)  #~ H0304
    a[6] = wp.sin  #~ H0107
    a[7] = a[7] + np  #~ H0107
    a[8] = "text"  #~ H0107
    a[9] = None  #~ H0107


@wp.kernel
def set_in_a_loop_inside(a: wp.array(dtype=float), grid: wp.uint64, p: wp.vec3, n: int):
    for i in range(n):
        for k in range(i):
            last = a[k]
    a[0] = last  #~ H0302
    for j in wp.hash_grid_query(grid, p, 1.0):
        found = a[j]
    a[1] = found  #~ H0302
    a[2] = float(j)  #~ H0302


@wp.kernel
def named_only(a: wp.array(dtype=float)):
    wp.block_sync  #~ H0107
    wp.sin  #~ H0107
    i = wp.tid
    a[i] = 1.0  #~ H0107
    wp.float32
    a[0]


@wp.kernel
def of_others(a: wp.array(dtype=float)):
    wp.syncthreads()  #~ H0303
    t = wp.tile_load(a, 4)  #~ H0303
