# Proved.
# Where dim == p.x.shape == p.v.shape
import heald as wp


@wp.struct
class Particles:
    x: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)


@wp.kernel
def step(p: Particles, dt: float):
    i = wp.tid()
    p.x[i] = p.x[i] + p.v[i * 1] * dt
