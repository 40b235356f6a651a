# Refuted: bounds.
# Where dim[0] + 2 == a.shape[0] and b.shape[0] == dim[0]
import heald as wp


@wp.kernel
def smooth(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] + a[i + 1] + a[i + 3]
