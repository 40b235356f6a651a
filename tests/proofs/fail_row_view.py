# Refuted: bounds.
# Where dim[0] == a.shape[0] == b.shape[0]
import heald as wp


@wp.kernel
def total(a: wp.array2d(dtype=float), b: wp.array(dtype=float)):
    r = wp.tid()
    row = a[r]
    s = 0.0
    for c in range(a.shape[0]):
        s += row[c]
    b[r] = s
