# Proved.
# Where dim == a.shape and dim[0] == dim[1]
import heald as wp


@wp.kernel
def transpose(a: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i < j:
        upper = a[i, j]
        a[i, j] = a[j, i]
        a[j, i] = upper
