# Refuted: bounds.
# Where dim == c.shape
import heald as wp


@wp.kernel
def matmul(
    a: wp.array(dtype=float, shape=("n", "k")),
    b: wp.array(dtype=float, shape=("k", "m")),
    c: wp.array(dtype=float, shape=("n", "m")),
):
    i, j = wp.tid()
    s = 0.0
    for p in range(a.shape[0]):
        s += a[i, p] * b[p, j]
    c[i, j] = s
