# Refuted: bounds.
# Where dim == y.shape
import heald as wp


@wp.kernel
def spmv(
    starts: wp.array(dtype=int, shape=("n + 1",), elem=wp.within(0, "nnz")),
    columns: wp.array(dtype=int, shape=("nnz",), elem=wp.index("m")),
    values: wp.array(dtype=float, shape=("nnz",)),
    x: wp.array(dtype=float, shape=("m",)),
    y: wp.array(dtype=float, shape=("n",)),
):
    r = wp.tid()
    s = 0.0
    for p in range(starts[r], starts[r + 1] + 1):
        s += values[p] * x[columns[p]]
    y[r] = s
