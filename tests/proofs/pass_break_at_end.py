# Proved.
# Where dim[0] == o.shape[0]
import heald as wp


@wp.kernel
def first_positive(a: wp.array(dtype=float), o: wp.array(dtype=int)):
    t = wp.tid()
    k = 0
    while True:
        if k >= a.shape[0]:
            break
        if a[k] > 0.0:
            break
        k += 1
    o[t] = k
