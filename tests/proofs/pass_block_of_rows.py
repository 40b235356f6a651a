# Proved.
# Where a.shape[0] == n and rows >= 1 and dim[0] <= 10000 and rows <= 10000
import heald as wp


@wp.kernel
def clear(a: wp.array(dtype=float), n: int, rows: int):
    t = wp.tid()
    for r in range(rows):
        p = t * rows + r
        if p < n:
            a[p] = float(t)
