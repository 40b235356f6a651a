# Refuted: division.
# Where dim[0] == a.shape[0]
import heald as wp


@wp.kernel
def parts(a: wp.array(dtype=int), d: int):
    t = wp.tid()
    if d >= 0:
        a[t] = t // d
