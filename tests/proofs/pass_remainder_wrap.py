# Proved.
# Where a.shape[0] == 2000000000 and dim == keys.shape
import heald as wp


@wp.kernel
def mark(keys: wp.array(dtype=int), a: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    a[keys[i] % 2000000000] = wp.uint8(1)
