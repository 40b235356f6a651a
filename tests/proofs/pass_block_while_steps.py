# Proved.
# Where dim == a.shape and block_dim == 64 and n <= 1000
import heald as wp


@wp.kernel
def doubled(a: wp.array(dtype=int), n: int):
    s = wp.shared_array(64, int)
    t = wp.thread_index()
    s[t] = 0
    j = 0
    k = 1
    while k < n:
        wp.block_sync()
        s[(t + k) % 64] = j
        j = k + t
        k = k + k
    a[wp.tid()] = k
