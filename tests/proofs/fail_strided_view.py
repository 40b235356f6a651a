# Refuted: bounds.
# Where dim[0] == b.shape[0] and a.shape[0] == 2 * dim[0] and dim[0] <= 1000
import heald as wp


@wp.kernel
def even(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    s = a[::3]
    b[i] = s[i]
