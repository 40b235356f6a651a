# Proved.
# Where dim[0] == n
import heald as wp


@wp.kernel
def fill(a: wp.array(dtype=float, shape=("2 * n",)), n: int):
    i = wp.tid()
    a[2 * i + 1] = 1.0
