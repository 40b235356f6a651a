# Proved.
# Where dim == at.shape
import heald as wp


@wp.kernel
def place(
    at: wp.array(dtype=int, elem=wp.index("m"), monotone=True, injective=True),
    out: wp.array(dtype=int, shape=("m",)),
):
    i = wp.tid()
    out[at[i]] = i
