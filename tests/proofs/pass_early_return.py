# Proved.
# Where a.shape[0] == n == b.shape[0]
import heald as wp


@wp.kernel
def copy(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    t = wp.tid()
    if t >= n:
        return
    b[t] = a[t]
