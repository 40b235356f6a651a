# Proved.
# Where w >= 0 and n >= 0 and n == a.shape[0]
import heald as wp

INDEX = wp.int64


@wp.kernel
def read(a: wp.array(dtype=float), o: wp.array2d(dtype=float), w: int, n: int):
    i, j = wp.tid()
    p = INDEX(i) * INDEX(w) + INDEX(j)
    if p >= INDEX(0) and p < INDEX(n) and i < o.shape[0] and j < o.shape[1]:
        o[i, j] = a[p]
