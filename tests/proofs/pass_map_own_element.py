# Proved.
# Where dim[0] == a.shape[0]
import heald as wp


@wp.kernel
def bump(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + 1.0
