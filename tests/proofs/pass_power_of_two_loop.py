# Proved.
# Where dim == 1 and a.shape[0] == 128
import heald as wp


@wp.kernel
def fold(a: wp.array(dtype=float)):
    s = 64
    while s > 0:
        for i in range(s):
            a[i] = a[i] + a[i + s]
        s = s // 2
