# Refuted: bounds.
# Where dim[0] == d and dim[1] == h and dim[2] == w and a.shape[0] == d * h * w == b.shape[0]
import heald as wp


@wp.kernel
def copy(a: wp.array(dtype=float), b: wp.array(dtype=float), d: int, h: int, w: int):
    i, j, k = wp.tid()
    b[(i * h + j) * w + k] = a[(i * h + j) * h + k]
