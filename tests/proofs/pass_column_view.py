# Proved.
# Where dim[0] == a.shape[1] and b.shape[0] == dim[0]
import heald as wp


@wp.kernel
def total(a: wp.array2d(dtype=float), b: wp.array(dtype=float)):
    j = wp.tid()
    s = 0.0
    column = a[:, j]
    for i in range(column.shape[0]):
        s += column[i] * float(i)
    b[j] = s
