# Proved.
# Where dim[0] == a.shape[0] and a.shape[0] == a.shape[1]
import heald as wp


@wp.kernel
def mirror(a: wp.array2d(dtype=float)):
    r = wp.tid()
    for c in range(r):
        a[r, c] = a[c, r]
