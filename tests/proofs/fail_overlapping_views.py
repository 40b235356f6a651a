# Refuted: races.
# Where a.shape[0] == 2 * n and dim[0] == n and n >= 1
import heald as wp


@wp.kernel
def halves(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    left = a[0:n]
    right = a[0 : n + n]
    left[i] = right[n - 1 - i] + 1.0
