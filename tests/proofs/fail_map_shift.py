# Refuted: bounds.
# Where dim[0] + 1 == a.shape[0] and b.shape[0] == dim[0]
import heald as wp


@wp.kernel
def shift(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i + 2]
