# Refuted: races.
# Where dim[0] == a.shape[0]
import heald as wp


@wp.kernel
def bump(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[0] + 1.0
