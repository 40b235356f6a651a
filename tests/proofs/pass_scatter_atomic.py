# Proved.
# Where dim[0] == idx.shape[0] and a.shape[0] == idx.shape[0]
import heald as wp


@wp.kernel
def scatter(a: wp.array(dtype=float), idx: wp.array(dtype=int), b: wp.array(dtype=float)):
    t = wp.tid()
    j = idx[t]
    if j >= 0 and j < b.shape[0]:
        b[j] += a[t]
