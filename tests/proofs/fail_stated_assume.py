# Refuted: bounds.
# Where dim == b.shape and dim == key.shape
import heald as wp


@wp.kernel
def hashed(key: wp.array(dtype=int), a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    k = key[i]
    wp.assume(k >= -1)
    if k < a.shape[0]:
        b[i] = a[k]
