# Proved.
# Where dim[0] == a.shape[0] and a.shape[0] == b.shape[0]
import heald as wp


@wp.kernel
def parts(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    t = wp.tid()
    d = b[t]
    if d != 0:
        a[t] = t % d
