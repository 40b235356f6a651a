# Proved.
# Where dim[0] + 1 == starts.shape[0]
import heald as wp


@wp.kernel
def scale(
    starts: wp.array(dtype=int, elem=wp.within(0, "nnz"), monotone=True),
    values: wp.array(dtype=float, shape=("nnz",)),
):
    r = wp.tid()
    for p in range(starts[r], starts[r + 1]):
        values[p] = values[p] * 2.0
