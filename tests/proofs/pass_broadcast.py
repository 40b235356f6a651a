# Proved.
# Where dim == a.shape and o.shape[0] == dim[0]
import heald as wp


@wp.kernel
def rows(a: wp.array2d(dtype=float), o: wp.array(dtype=float)):
    i, j = wp.tid()
    o[i] += a[i, j]
