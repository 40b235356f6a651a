# Proved.
# Where dim == root.shape
import heald as wp


@wp.kernel
def find(
    parent: wp.array(dtype=int, shape=("n",), elem=wp.index("n")),
    root: wp.array(dtype=int, shape=("n",)),
):
    i = wp.tid()
    here = i
    while parent[here] != here:
        here = parent[here]
    root[i] = here
