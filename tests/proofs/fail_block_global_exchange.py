# Refuted: races.
# Where dim == a.shape and dim == b.shape and block_dim == 64 and dim[0] == 64 * n
import heald as wp


@wp.kernel
def reverse(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = wp.thread_index()
    a[i] = 2.0 * b[i]
    wp.block_dim()
    b[i] = a[i + 63 - 2 * t]
