# Refuted: races.
# Where dim == a.shape and dim == b.shape and block_dim == 64
import heald as wp


@wp.kernel
def neighbours(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(64, int)
    s[wp.block_index()] = i
    a[i] = i
    wp.block_sync()
    if wp.thread_index() > 0:
        b[i] = a[i - 1]
