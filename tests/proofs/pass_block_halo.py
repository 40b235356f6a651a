# Proved.
# Where block_dim == 64 and dim == a.shape and dim[0] == 100
import heald as wp


@wp.kernel
def blur(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.shared_array(64, float)
    t = wp.thread_index()
    s[t] = a[i]
    wp.block_sync()
    total = s[t]
    if t > 0:
        total += s[t - 1]
    if t < wp.block_threads() - 1:
        total += s[t + 1]
    if i < b.shape[0]:
        b[i] = total
