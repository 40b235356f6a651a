# Proved.
# Where dim == 1
import heald as wp


@wp.kernel
def mark(a: wp.array(dtype=float)):
    i = wp.tid()
    step = 268435456
    at = i
    for _ in range(3):
        if at < 100:
            at += step
            continue
        at += step
    if at < a.shape[0]:
        a[at] = 1.0
