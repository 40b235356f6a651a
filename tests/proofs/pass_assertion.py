# Proved.
# Where dim[0] == a.shape[0]
import heald as wp


@wp.kernel
def check(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i < n:
        assert i < n
        a[i] = 0.0
