# Proved.
# Where a.shape[0] == n
import heald as wp


@wp.kernel
def bump(a: wp.array(dtype=int), n: int, stride: int):
    t = wp.tid()
    if stride > 0 and t == 0:
        for j in range(0, n, stride):
            a[j] = 1
