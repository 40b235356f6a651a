# Proved.
# Where dim == b.shape
import heald as wp


@wp.kernel
def scatter(
    to: wp.array(dtype=int, shape=("n",), elem=wp.index("n"), injective=True),
    a: wp.array(dtype=float, shape=("n",)),
    b: wp.array(dtype=float, shape=("n",)),
):
    t = wp.tid()
    b[to[t]] = a[t]
