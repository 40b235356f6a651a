# Proved.
# Where dim[0] == a.shape[0] and o.shape[0] == 1
import heald as wp


@wp.kernel
def last(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    if i == a.shape[0] - 1:
        o[0] = a[i]
    elif a[i] > 3.0:
        a[i] = 3.0
