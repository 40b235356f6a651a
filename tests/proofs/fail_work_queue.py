# Refuted: bounds.
# Where dim[0] == a.shape[0] and count.shape[0] == 1
import heald as wp


@wp.kernel
def push(a: wp.array(dtype=float), queue: wp.array(dtype=int), count: wp.array(dtype=int)):
    t = wp.tid()
    if a[t] > 0.5:
        p = wp.atomic_add(count, 0, 1)
        if p >= 0 and p <= queue.shape[0]:
            queue[p] = t
