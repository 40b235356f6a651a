# Refuted: races.
# Where dim[0] == a.shape[0] == b.shape[0]
import heald as wp


@wp.kernel
def smooth(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0:
        a[i] = a[i - 1]
