# Refuted: bounds.
# Where dim == a.shape
import heald as wp


@wp.kernel
def negate(a: wp.array3d(dtype=float)):
    i, j, k = wp.tid()
    a[i, j, k] = -a[i, j, j]
