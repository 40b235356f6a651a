# Refuted: bounds.
# Where dim[0] == idx.shape[0] and b.shape[0] == idx.shape[0]
import heald as wp


@wp.kernel
def gather(a: wp.array(dtype=float), idx: wp.array(dtype=int), b: wp.array(dtype=float)):
    t = wp.tid()
    j = idx[t]
    if j >= -1 and j < a.shape[0]:
        b[t] = a[j]
