# Proved.
# Where dim[0] == a.shape[0] and count.shape[0] == 1
import heald as wp


@wp.kernel
def pop(a: wp.array(dtype=float), stack: wp.array(dtype=float), count: wp.array(dtype=int)):
    t = wp.tid()
    if a[t] > 0.5:
        p = wp.atomic_sub(count, 0, 1)
        if p > 0 and p <= stack.shape[0]:
            stack[p - 1] = a[t]
