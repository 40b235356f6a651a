# Refuted: races.
# Where block_dim == 64 and dim == a.shape and dim[0] == 64 * sums.shape[0] and 0 <= n and n <= 32
import heald as wp


@wp.kernel
def total(a: wp.array(dtype=float), sums: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = wp.shared_array(64, float)
    t = wp.thread_index()
    s[t] = a[i]
    wp.block_sync()
    k = n
    while k > 0:
        if t < k:
            s[t] = s[t] + s[t + 1]
        wp.block_sync()
        k = k // 2
    if t == 0:
        sums[wp.block_index()] = s[0]
