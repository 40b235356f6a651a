"""Structs in an array, updated field by field and as a whole."""

from typing import Any

import numpy as np

import heald as wp

DIM = 20
TOLERANCE = 1e-6


@wp.struct
class Box:
    low: wp.vec3
    high: wp.vec3


@wp.struct
class Particle:
    x: wp.vec3
    v: wp.vec3
    hits: int
    alive: bool


@wp.func
def bounce(p: Particle, box: Box):
    for k in range(3):
        if p.x[k] < box.low[k] or p.x[k] > box.high[k]:
            p.v[k] = -p.v[k]
            p.x[k] = wp.min(wp.max(p.x[k], box.low[k]), box.high[k])
            p.hits += 1
    return p


@wp.kernel
def kernel(ps: wp.array(dtype=Particle), box: Box, dt: float):
    i = wp.tid()
    p = ps[i]
    if not p.alive:
        ps[i].hits = -1
        return
    for _step in range(4):
        p.x += p.v * dt
        p = bounce(p, box)
        if p.hits > 5:
            p.alive = False
            break
    ps[i] = p


def arguments(random: np.random.Generator) -> dict[str, Any]:
    layout = [("x", "f4", 3), ("v", "f4", 3), ("hits", "i4"), ("alive", "?")]
    ps = np.zeros(DIM, np.dtype(layout, align=True))
    ps["x"] = random.uniform(-1, 1, (DIM, 3))
    ps["v"] = random.uniform(-2, 2, (DIM, 3))
    ps["alive"] = random.random(DIM) < 0.8
    return {"ps": ps, "box": ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)), "dt": 0.5}


def expected(ps: Any, box: Any, dt: float) -> dict[str, Any]:
    out = ps.copy()
    for p in out:
        if not p["alive"]:
            p["hits"] = -1
            continue
        for _ in range(4):
            p["x"] += p["v"] * np.float32(dt)
            outside = (p["x"] < box[0]) | (p["x"] > box[1])
            p["v"][outside] *= -1
            p["x"] = np.clip(p["x"], box[0], box[1])
            p["hits"] += outside.sum()
            if p["hits"] > 5:
                p["alive"] = False
                break
    return {"ps": out}
