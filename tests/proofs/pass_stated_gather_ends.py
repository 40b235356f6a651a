# Proved.
# Where dim == b.shape and a.shape[0] >= 1
import heald as wp


@wp.kernel
def gather(
    idx: wp.array(dtype=int, shape=("n",), elem=wp.within(0, "m - 1")),
    a: wp.array(dtype=float, shape=("m",)),
    b: wp.array(dtype=float, shape=("n",)),
):
    t = wp.tid()
    b[t] = a[idx[t]]
