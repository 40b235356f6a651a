# Proved.
# Where dim == f.shape
import heald as wp


@wp.kernel
def forces(
    cell: wp.array(dtype=int, shape=("n",), elem=wp.index("cells")),
    first: wp.array(dtype=int, shape=("cells + 1",), elem=wp.within(0, "n"), monotone=True),
    x: wp.array(dtype=float, shape=("n",)),
    f: wp.array(dtype=float, shape=("n",)),
):
    i = wp.tid()
    c = cell[i]
    total = 0.0
    for j in range(first[c], first[c + 1]):
        total += x[j] - x[i]
    f[i] = total
