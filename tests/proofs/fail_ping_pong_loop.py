# Refuted: races.
# Where dim[0] == a.shape[0] == b.shape[0]
import heald as wp


@wp.kernel
def steps(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    t = wp.tid()
    for _k in range(n):
        b[t] = a[t] * 0.5
        a[t] = b[0]
