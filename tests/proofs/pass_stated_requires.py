# Proved.
# Where dim[0] == n
import heald as wp


@wp.kernel
def copy(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    wp.requires(n <= a.shape[0] and n <= b.shape[0])
    i = wp.tid()
    b[i] = a[i]
