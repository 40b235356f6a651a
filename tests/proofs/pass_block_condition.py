# Proved.
# Where dim == a.shape
import heald as wp


@wp.kernel
def settle(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    s = wp.shared_array(1, int)
    if n > 0:
        wp.block_sync()
        s[0] = a[i] * 0
