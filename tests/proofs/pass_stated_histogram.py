# Proved.
# Where dim == box.shape
import heald as wp


@wp.kernel
def count(
    box: wp.array(dtype=int, elem=wp.index("bins")),
    counts: wp.array(dtype=int, shape=("bins",)),
):
    t = wp.tid()
    counts[box[t] + 0] += 1
