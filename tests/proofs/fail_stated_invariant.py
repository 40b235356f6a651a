# Refuted: contracts.
# Where dim == out.shape and a.shape[0] <= 1000000 and dim == x.shape
import heald as wp


@wp.kernel
def find(a: wp.array(dtype=int), x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    low = 0
    high = a.shape[0]
    while low < high:
        wp.invariant(low >= 0 and high <= a.shape[0] - 1)
        middle = (low + high) // 2
        if a[middle] < x[i]:
            low = middle + 1
        else:
            high = middle
    out[i] = low
