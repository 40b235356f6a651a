# Proved.
# Where dim[0] + 2 == starts.shape[0]
import heald as wp


@wp.kernel
def clear(
    starts: wp.array(dtype=int, elem=wp.within(0, "nnz"), monotone=True),
    values: wp.array(dtype=float, shape=("nnz",)),
    sign: wp.array(dtype=float),
):
    r = wp.tid()
    for p in range(starts[r], starts[r + 1]):
        values[p] = float(r)
