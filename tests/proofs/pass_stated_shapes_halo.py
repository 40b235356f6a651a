# Proved.
# Where dim == b.shape
import heald as wp


@wp.kernel
def blur(a: wp.array(dtype=float, shape=("n + 2",)), b: wp.array(dtype=float, shape=("n",))):
    i = wp.tid()
    b[i] = a[i] + a[i + 1] + a[i + 2]
