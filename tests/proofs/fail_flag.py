# Refuted: races.
# Where dim[0] == a.shape[0] and flag.shape[0] == 1
import heald as wp


@wp.kernel
def any_positive(a: wp.array(dtype=float), flag: wp.array(dtype=int)):
    t = wp.tid()
    if a[t] > 0.0:
        flag[0] = t
