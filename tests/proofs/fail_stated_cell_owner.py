# Refuted: races.
# Where dim[0] == cells and first.shape[0] == cells + 1
import heald as wp


@wp.kernel
def number(
    first: wp.array(dtype=wp.int64, elem=wp.within(0, "n"), monotone=True),
    cells: int,
    owner: wp.array(dtype=int, shape=("n",)),
):
    c = wp.tid()
    for j in range(first[0], first[c + 1]):
        owner[j] = c
