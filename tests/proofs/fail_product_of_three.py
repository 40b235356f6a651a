# Refuted: overflow.
# Where d == dim[0] and h == dim[1] and w == dim[2] and d <= 9000 and h <= 9000 and w <= 9000
import heald as wp

INDEX = wp.int32


@wp.kernel
def read(a: wp.array(dtype=float), o: wp.array3d(dtype=float), d: int, h: int, w: int):
    i, j, k = wp.tid()
    p = (INDEX(i) * INDEX(h) + INDEX(j)) * INDEX(w) + INDEX(k)
    inside = i < o.shape[0] and j < o.shape[1] and k < o.shape[2]
    if inside and p >= INDEX(0) and p < INDEX(a.shape[0]):
        o[i, j, k] = a[p]
