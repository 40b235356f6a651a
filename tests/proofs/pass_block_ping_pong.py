# Proved.
# Where block_dim == 64 and dim == a.shape and dim[0] == 128
import heald as wp


@wp.kernel
def relax(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = wp.shared_array(64, float)
    t = wp.thread_index()
    s[t] = a[i]
    for _ in range(n):
        wp.block_sync()
        x = s[63 - t]
        wp.block_sync()
        s[t] = x
    a[i] = s[t]
