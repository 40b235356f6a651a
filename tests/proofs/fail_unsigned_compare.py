# Refuted: bounds.
# Where dim[0] == idx.shape[0] and o.shape == dim
import heald as wp


@wp.kernel
def gather(a: wp.array(dtype=float), idx: wp.array(dtype=int), o: wp.array(dtype=float)):
    i = wp.tid()
    j = idx[i]
    if wp.uint32(j) <= wp.uint32(a.shape[0]):
        o[i] = a[j]
