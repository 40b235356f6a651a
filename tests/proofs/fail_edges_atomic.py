# Refuted: races.
# Where dim[0] == u.shape[0] == v.shape[0]
import heald as wp


@wp.kernel
def flux(u: wp.array(dtype=int), v: wp.array(dtype=int), x: wp.array(dtype=float)):
    e = wp.tid()
    i = u[e]
    j = v[e]
    n = x.shape[0]
    if i >= 0 and i < n and j >= 0 and j < n:
        x[i] += 1.0
        x[j] = 1.0
