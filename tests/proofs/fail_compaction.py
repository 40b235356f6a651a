# Refuted: races.
# Where dim[0] == a.shape[0] and count.shape[0] == 1
import heald as wp


@wp.kernel
def compact(a: wp.array(dtype=float), o: wp.array(dtype=float), count: wp.array(dtype=int)):
    t = wp.tid()
    if a[t] > 0.0:
        p = wp.atomic_add(count, 0, 0)
        if p >= 0 and p < o.shape[0]:
            o[p] = a[t]
