# Proved.
# Where dim == a.shape and dim == b.shape and block_dim == 32
import heald as wp


@wp.kernel
def difference(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    a[i] = i
    wp.block_sync()
    if wp.thread_index() >= 1:
        b[i] = a[i] - a[i - 1]
