# Proved.
# Where dim[0] == idx.shape[0] and dim == b.shape
import heald as wp


@wp.kernel
def spread(a: wp.array(dtype=float), idx: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    k = idx[i]
    b[i] = 0
    if k >= 0 and k < a.shape[0]:
        wp.atomic_add(a, k, 1.0)
