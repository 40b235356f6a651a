# Refuted: races.
# Where dim == a.shape and block_dim == 32 and dim[0] == 32 * out.shape[0]
import heald as wp


@wp.kernel
def last(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.shared_array(32, float)
    t = wp.thread_index()
    s[t] = a[i]
    wp.block_sync()
    if t >= 0:
        out[i // 32] = s[t]
