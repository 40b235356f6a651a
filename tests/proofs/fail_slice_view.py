# Refuted: bounds.
# Where dim[0] + 1 == a.shape[0] and b.shape == dim
import heald as wp


@wp.kernel
def tail(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    s = a[2:]
    b[i] = s[i]
