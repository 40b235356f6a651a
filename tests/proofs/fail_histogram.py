# Refuted: bounds.
# Where dim[0] == a.shape[0] and h.shape[0] == 16
import heald as wp


@wp.kernel
def histogram(a: wp.array(dtype=float), h: wp.array(dtype=int)):
    t = wp.tid()
    j = int(a[t] * 16.0)
    j = max(min(j, 16), 0)
    wp.atomic_add(h, j, 1)
