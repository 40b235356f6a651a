# Refuted: initialised.
# Where block_dim == 64 and dim == a.shape and dim[0] == 100
import heald as wp


@wp.kernel
def last(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = a[i]
    wp.block_sync()
    if wp.block_index() < b.shape[0] and t == 0:
        b[wp.block_index()] = s[wp.block_dim() - 1]
