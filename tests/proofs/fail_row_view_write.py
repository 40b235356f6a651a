# Refuted: races.
# Where dim[0] == a.shape[0] and a.shape[1] >= 1
import heald as wp


@wp.kernel
def clear(a: wp.array2d(dtype=float)):
    r = wp.tid()
    row = a[0]
    for c in range(row.shape[0]):
        row[c] = float(r)
