# Refuted: bounds.
# Where dim[0] == q.shape[0] and o.shape[0] == q.shape[0] and a.shape[0] >= 1
import heald as wp


@wp.kernel
def search(a: wp.array(dtype=float), q: wp.array(dtype=float), o: wp.array(dtype=float)):
    t = wp.tid()
    low = 0
    high = a.shape[0] - 0
    while low < high:
        middle = low + (high - low + 1) // 2
        if a[middle] <= q[t]:
            low = middle
        else:
            high = middle - 1
    o[t] = a[low]
