# Proved.
# Where dim[0] == o.shape[0] and ring.shape[0] >= 1
import heald as wp


@wp.kernel
def read(ring: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    n = ring.shape[0]
    p = i % n + 1
    if p >= n:
        p = p - n
    o[i] = ring[p]
