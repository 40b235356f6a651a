# Proved.
# Where dim[0] == h and dim[1] == w and a.shape[0] == h * w == b.shape[0]
import heald as wp


@wp.kernel
def copy(a: wp.array(dtype=float), b: wp.array(dtype=float), h: int, w: int):
    i, j = wp.tid()
    b[i * w + j] = a[i * w + j]
