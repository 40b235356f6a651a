# Proved.
# Where dim[0] == v.shape[0] and o.shape[0] == v.shape[0] and v.shape[1] == steps
import heald as wp


@wp.kernel
def march(v: wp.array2d(dtype=float), o: wp.array(dtype=float), steps: int):
    t = wp.tid()
    x = 0.0
    s = 0
    while s < steps and x < 1.0:
        x = x + v[t, s]
        s += 1
    o[t] = x
