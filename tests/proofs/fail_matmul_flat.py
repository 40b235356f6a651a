# Refuted: bounds.
# Where dim == c.shape and dim[1] == w and a.shape[0] == dim[0] * n and b.shape[0] == n * w
import heald as wp


@wp.kernel
def matmul(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array2d(dtype=float),
    w: int,
    n: int,
):
    i, j = wp.tid()
    s = 0.0
    for k in range(n):
        s += a[i * n + k] * b[k * n + j]
    c[i, j] = s
