# Refuted: races.
# Where block_dim == 64 and dim == a.shape and dim[0] == 128
import heald as wp


@wp.kernel
def scan(a: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = a[i]
    wp.block_sync()
    k = 1
    while k < 64:
        before = 0
        if t >= k:
            before = s[t - k]
        wp.block_dim()
        s[t] = s[t] + before
        wp.block_sync()
        k = k * 2
    a[i] = s[t]
