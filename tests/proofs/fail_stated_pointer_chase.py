# Refuted: bounds.
# Where dim == root.shape
import heald as wp


@wp.kernel
def find(
    parent: wp.array(dtype=int, shape=("n",), elem=wp.index("2 * n")),
    root: wp.array(dtype=int, shape=("n",)),
):
    i = wp.tid()
    here = i
    while parent[here] != here:
        here = parent[here]
    root[i] = here
