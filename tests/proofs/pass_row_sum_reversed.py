# Proved.
# Where dim[0] == a.shape[0] == b.shape[0]
import heald as wp


@wp.kernel
def total(a: wp.array2d(dtype=float), b: wp.array(dtype=float)):
    r = wp.tid()
    s = 0.0
    for c in range(a.shape[1] - 1, -1, -1):
        s += a[r, c]
    b[r] = s
