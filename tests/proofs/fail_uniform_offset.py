# Refuted: races.
# Where base.shape[0] == 1
import heald as wp


@wp.kernel
def place(base: wp.array(dtype=int), o: wp.array(dtype=int)):
    i = wp.tid()
    n = wp.int64(base[0])
    p = wp.int64(0) + n
    if p >= wp.int64(0) and p < wp.int64(o.shape[0]):
        o[p] = i
