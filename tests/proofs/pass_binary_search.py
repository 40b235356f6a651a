# Proved.
# Where dim[0] == q.shape[0] and o.shape[0] == q.shape[0]
import heald as wp


@wp.kernel
def search(a: wp.array(dtype=float), q: wp.array(dtype=float), o: wp.array(dtype=int)):
    t = wp.tid()
    low = 0
    high = a.shape[0]
    while low < high:
        middle = low + (high - low) // 2
        if a[middle] < q[t]:
            low = middle + 1
        else:
            high = middle
        if low == high and q[t] != q[t]:
            return
    o[t] = low
