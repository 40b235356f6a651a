# Proved.
# Where dim[0] == n == a.shape[0] == a.shape[1] and 2 * b.shape[0] == n * n + n and n <= 40000
import heald as wp


@wp.kernel
def pack(a: wp.array2d(dtype=float), b: wp.array(dtype=float), n: int):
    r = wp.tid()
    for c in range(r + 1):
        b[r * (r + 1) // 2 + c] = a[r, c]
