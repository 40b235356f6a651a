# Proved.
# Where dim == b.shape and 2 * dim[0] <= a.shape[0] and 2 * dim[1] <= a.shape[1]
import heald as wp


@wp.kernel
def pool(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = 0.0
    for u in range(2):
        for v in range(2):
            s += a[2 * i + u, 2 * j + v]
    b[i, j] = s
