# Proved.
# Where dim[0] == o.shape[0] and a.shape[0] == n and n >= 1
import heald as wp


@wp.kernel
def pick(a: wp.array(dtype=float), o: wp.array(dtype=float), n: int):
    i = wp.tid()
    p = i if i < n else n - 1
    o[i] = a[p]
