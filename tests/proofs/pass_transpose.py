# Proved.
# Where dim == a.shape and b.shape[0] == dim[1] and b.shape[1] == dim[0]
import heald as wp


@wp.kernel
def transpose(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i, j = wp.tid()
    b[j, i] = a[i, j]
