# Proved.
# Where dim[0] == 2 * n and a.shape[0] == 2 * n and b.shape[0] == 2 * n and n <= 1000000000
import heald as wp


@wp.kernel
def swap(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    t = wp.tid()
    b[t] = a[t ^ 1]
