# Proved.
# Where a.shape[0] == dim[0] * m and b.shape[0] == dim[0] and m >= 0
import heald as wp


@wp.kernel
def rows(a: wp.array(dtype=float), b: wp.array(dtype=float), m: int):
    t = wp.tid()
    p = t * m
    s = 0.0
    for _j in range(m):
        s += a[p]
        p += 1
    b[t] = s
