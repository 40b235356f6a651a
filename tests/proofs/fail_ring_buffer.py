# Refuted: bounds.
# Where dim[0] == o.shape[0] and head >= 0 and dim[0] <= 10000 and ring.shape[0] <= 10000
import heald as wp


@wp.kernel
def read(ring: wp.array(dtype=float), o: wp.array(dtype=float), head: int):
    i = wp.tid()
    n = ring.shape[0]
    if n > 0 and head < n:
        o[i] = ring[(head + i) // n]
