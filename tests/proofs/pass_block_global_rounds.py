# Proved.
# Where dim == a.shape and block_dim == 64 and dim[0] == 64 * n
import heald as wp


@wp.kernel
def smooth(a: wp.array(dtype=float), n: int, rounds: int):
    i = wp.tid()
    t = wp.thread_index()
    for _ in range(rounds):
        left = 0.0
        if t > 0:
            left = a[i - 1]
        wp.block_sync()
        a[i] = left
        wp.block_sync()
