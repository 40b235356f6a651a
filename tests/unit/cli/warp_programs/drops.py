# ruff: noqa
# fmt: off
"""Falling drops: nothing but the import has to change."""

import numpy as np
import warp as wp  #~ import


@wp.struct
class Drop:
    x: wp.vec3
    v: wp.vec3


@wp.func
def bounce(v: wp.vec3, loss: float):
    if v[1] < 0.0:
        v = wp.vec3(v[0], -loss * v[1], v[2])
    return v


@wp.kernel
def step(drops: wp.array(dtype=Drop), gravity: wp.vec3, dt: float):
    i = wp.tid()
    d = drops[i]
    d.v = d.v + gravity * dt
    d.x = d.x + d.v * dt
    if d.x[1] < 0.0:
        d.v = bounce(d.v, 0.5)
    drops[i] = d


@wp.kernel
def binned(drops: wp.array(dtype=Drop), counts: wp.array(dtype=int), width: int):
    i = wp.tid()
    column = i % width
    row = (i // width) % 3
    x = float(0.0)
    for k in range(3):
        x = x + drops[i].x[k]
    if x > wp.pi and column + row < 100:
        wp.atomic_add(counts, column, 1)


def main(count: int = 8):
    drops = wp.zeros(count, dtype=Drop, device="cpu")
    drops.numpy()["x"][:, 1] = np.arange(count)
    counts = wp.zeros(4, dtype=wp.int32)
    for _ in range(3):
        wp.launch(step, dim=count, inputs=[drops, wp.vec3(0.0, -10.0, 0.0), 0.1])
    wp.launch(kernel=binned, dim=(count,), inputs=[drops, counts], outputs=[4])
    wp.synchronize()
    return drops.numpy()["x"][:, 1].tolist(), counts.numpy().tolist()
