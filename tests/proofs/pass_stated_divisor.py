# Proved.
# Where dim == a.shape
import heald as wp


@wp.kernel
def divide(
    a: wp.array(dtype=int, shape=("n",)),
    by: wp.array(dtype=int, shape=("n",), elem=wp.within(1, 9)),
):
    i = wp.tid()
    a[i] = a[i] // by[i]
