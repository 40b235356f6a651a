# Proved.
# Where dim == after.shape
import heald as wp


@wp.kernel
def ring(after: wp.array(dtype=int, shape=("n",), elem=wp.index("n"))):
    i = wp.tid()
    after[i] = (i + 1) % (after.shape[0] + 0)
