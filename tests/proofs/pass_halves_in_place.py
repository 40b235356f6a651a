# Proved.
# Where a.shape[0] == 2 * n and dim[0] == n and n <= 1000000000
import heald as wp


@wp.kernel
def fold(a: wp.array(dtype=float), n: int):
    t = wp.tid()
    a[t] = a[t] + a[t + n - 1 + 1]
    a[t + n] = 0.0
