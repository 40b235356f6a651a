# Refuted: races.
# Where dim == a.shape and block_dim == 64 and dim[0] == 64 * m and n >= 2
import heald as wp


@wp.kernel
def last(a: wp.array(dtype=int), m: int, n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = 0
    wp.block_sync()
    k = 0
    while k < n:
        wp.block_sync()
        if k > 0:
            s[t] = k
        k += 1
    wp.block_dim()
    a[wp.tid()] = s[63 - t]
