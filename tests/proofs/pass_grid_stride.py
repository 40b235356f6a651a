# Proved.
# Where a.shape[0] == n and b.shape[0] == n and stride == dim[0]
import heald as wp


@wp.kernel
def double(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int, stride: int):
    t = wp.tid()
    for j in range(t, n, stride):
        b[j] = a[j] + float(t)
