# Refuted: races.
# Where a.shape[0] == 2 * dim[0] and dim[0] <= 1000000000
import heald as wp


@wp.kernel
def pairs(a: wp.array(dtype=float)):
    t = wp.tid()
    if t > 0:
        a[2 * t] = a[2 * t + -2]
