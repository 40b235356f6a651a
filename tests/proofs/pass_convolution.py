# Proved.
# Where dim == b.shape and dim[0] + g.shape[0] <= a.shape[0] and dim[1] + g.shape[1] <= a.shape[1]
import heald as wp


@wp.kernel
def convolve(a: wp.array2d(dtype=float), g: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = 0.0
    for u in range(g.shape[0]):
        for v in range(g.shape[1]):
            s += a[i + u, j + v] * g[u, v]
    b[i, j] = s
