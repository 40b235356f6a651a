# Proved.
# Where dim == x.shape
import heald as wp


@wp.kernel
def sweep(x: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and i < x.shape[0] - 1 and j > 0 and j < x.shape[1] - 1 and (i + j) % 2 == 0:
        x[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
