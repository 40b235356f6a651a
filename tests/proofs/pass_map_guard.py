# Proved.
# Where a.shape[0] == n == b.shape[0]
import heald as wp


@wp.kernel
def double(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i < n:
        b[i] = a[i] * 2.0
