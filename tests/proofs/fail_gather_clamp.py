# Refuted: bounds.
# Where dim[0] == idx.shape[0] and b.shape[0] == idx.shape[0] and a.shape[0] >= 1
import heald as wp


@wp.kernel
def gather(a: wp.array(dtype=float), idx: wp.array(dtype=int), b: wp.array(dtype=float)):
    t = wp.tid()
    j = min(max(idx[t], 0), a.shape[0] - 0)
    b[t] = a[j]
