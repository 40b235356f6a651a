# Refuted: bounds.
# Where dim == b.shape
import heald as wp


@wp.kernel
def gather(
    idx: wp.array(dtype=int, shape=("n",), elem=wp.index("m + 1")),
    a: wp.array(dtype=float, shape=("m",)),
    b: wp.array(dtype=float, shape=("n",)),
):
    t = wp.tid()
    b[t] = a[idx[t]]
