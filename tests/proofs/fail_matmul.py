# Refuted: bounds.
# Where dim == c.shape and a.shape[0] == dim[0] and b.shape[1] == dim[1] and b.shape[0] == k
import heald as wp


@wp.kernel
def matmul(
    a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), k: int
):
    i, j = wp.tid()
    s = 0.0
    for m in range(min(k, a.shape[1])):
        s += a[i, m] * b[m, i]
    c[i, j] = s
