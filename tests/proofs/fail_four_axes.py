# Refuted: bounds.
# Where dim == a.shape
import heald as wp


@wp.kernel
def clear(a: wp.array4d(dtype=float)):
    i, j, k, m = wp.tid()
    a[i, j, k, k] = float(m)
