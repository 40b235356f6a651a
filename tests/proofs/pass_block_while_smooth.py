# Proved.
# Where dim == a.shape and block_dim == 64 and dim[0] == 64 * n
import heald as wp


@wp.kernel
def shift(a: wp.array(dtype=float), n: int, rounds: int):
    i = wp.tid()
    t = wp.thread_index()
    k = rounds
    while k > 0:
        left = 0.0
        if t > 0:
            left = a[i - 1]
        wp.block_sync()
        a[i] = left
        wp.block_sync()
        k = k // 2
