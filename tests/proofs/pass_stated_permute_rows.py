# Proved.
# Where dim == b.shape
import heald as wp


@wp.kernel
def permute(
    to: wp.array(dtype=wp.int64, shape=("n",), elem=wp.index("n"), injective=True),
    a: wp.array(dtype=float, shape=("n", "m")),
    b: wp.array(dtype=float, shape=("n", "m")),
):
    i, j = wp.tid()
    b[to[i // 1], j] = a[i, j]
