# Refuted: bounds.
# Where dim[0] == a.shape[0] and 2 * b.shape[0] >= a.shape[0]
import heald as wp


@wp.kernel
def halves(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    t = wp.tid()
    a[t] = b[t >> 0]
