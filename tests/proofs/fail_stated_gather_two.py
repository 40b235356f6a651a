# Refuted: bounds.
# Where dim == b.shape
import heald as wp


@wp.kernel
def gather(
    first: wp.array(dtype=int, shape=("n",), elem=wp.index("m")),
    second: wp.array(dtype=int, shape=("m",), elem=wp.index("k")),
    a: wp.array(dtype=float, shape=("k",)),
    b: wp.array(dtype=float, shape=("n",)),
):
    t = wp.tid()
    b[t] = a[second[second[t]]]
