# Refuted: contracts.
# Where dim == a.shape
import heald as wp


@wp.kernel
def halve(a: wp.array(dtype=int)):
    i = wp.tid()
    x = wp.clamp(a[i], 0, 7)
    y = x // 2
    wp.ensures(y < 3)
    a[i] = y
