# Proved.
# Where dim[0] == a.shape[0] and j > 0
import heald as wp


@wp.kernel
def step(a: wp.array(dtype=float), j: int):
    t = wp.tid()
    p = t ^ j
    if p > t and p >= 0 and p < a.shape[0] and a[t] > a[p]:
        x = a[t]
        a[t] = a[p]
        a[p] = x
