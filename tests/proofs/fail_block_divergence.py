# Refuted: divergence.
# Where dim == a.shape
import heald as wp


@wp.kernel
def clear(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    if i < n:
        wp.block_sync()
        a[i] = 0
