# Proved.
# Where dim[0] == a.shape[0] and count.shape[0] == 2
import heald as wp


@wp.kernel
def split(
    a: wp.array(dtype=float),
    low: wp.array(dtype=int),
    high: wp.array(dtype=int),
    count: wp.array(dtype=int),
):
    t = wp.tid()
    if a[t] < 0.0:
        p = wp.atomic_add(count, 0, 1)
        if p >= 0 and p < low.shape[0]:
            low[p] = t
    else:
        q = wp.atomic_add(count, 1, 1)
        if q >= 0 and q < min(low.shape[0], high.shape[0]):
            high[q] = t
