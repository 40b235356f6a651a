# Refuted: races.
# Where block_dim == 64 and dim == a.shape and dim[0] == 128
import heald as wp


@wp.kernel
def reverse(a: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = a[i]
    wp.block_dim()
    a[i] = s[63 - t]
