# Refuted: overflow.
# Where a.shape[0] >= 1 and o.shape[0] == dim[0]
import heald as wp

INDEX = wp.int32


@wp.kernel
def read(a: wp.array(dtype=float), o: wp.array(dtype=float), offset: int):
    i = wp.tid()
    p = INDEX(i) * INDEX(3) + INDEX(offset)
    if p >= INDEX(0) and p < INDEX(a.shape[0]):
        o[i] = a[p]
