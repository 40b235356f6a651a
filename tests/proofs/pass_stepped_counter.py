# Proved.
# Where dim[0] == a.shape[0] and count.shape[0] == 1
import heald as wp


@wp.kernel
def rows(a: wp.array(dtype=float), o: wp.array(dtype=float), count: wp.array(dtype=int)):
    t = wp.tid()
    p = wp.atomic_add(count, 0, 2)
    if p >= 0 and p < o.shape[0] - 1 and t < 1000:
        o[p] = a[t]
        o[p + 1] = float(t)
