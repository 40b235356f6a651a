# Proved.
# Where block_dim == 8 and dim == a.shape
import heald as wp


@wp.kernel
def count(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    t = wp.thread_index()
    rounds = 0
    for k in range(n):
        if k == t:
            break
        rounds += 1
    wp.block_sync()
    a[i] = rounds
