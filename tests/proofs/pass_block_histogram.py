# Proved.
# Where block_dim == 64 and dim == a.shape and dim[0] == 128 and counts.shape[0] == 8
import heald as wp


@wp.kernel
def count(a: wp.array(dtype=int), counts: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.shared_array(8, int)
    t = wp.thread_index()
    if t < 8:
        s[t] = 0
    wp.block_sync()
    s[wp.clamp(a[i], 0, 7)] += 1
    wp.block_sync()
    if t < 8:
        counts[t] += s[t]
