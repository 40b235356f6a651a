# Proved.
# Where dim[0] == a.shape[0] and s.shape[0] == 2 and b.shape[0] == dim[0]
import heald as wp


@wp.kernel
def total(a: wp.array(dtype=float), s: wp.array(dtype=float), b: wp.array(dtype=float)):
    t = wp.tid()
    s[0] += a[t]
    b[t] = s[1]
