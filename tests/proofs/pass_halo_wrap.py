# Proved.
# Where dim[0] == a.shape[0] == b.shape[0]
import heald as wp


@wp.kernel
def rotate(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    n = a.shape[0]
    right = i + 1
    if right >= n:
        right = 0
    b[i] = a[right]
