# Proved.
# Where dim == a.shape == b.shape
import heald as wp


@wp.kernel
def scale(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i, j = wp.tid()
    b[i, j] = a[i, j] * 2.0
