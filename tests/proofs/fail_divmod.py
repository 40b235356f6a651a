# Refuted: bounds.
# Where dim[0] == a.shape[0] and a.shape[0] == b.shape[0] * b.shape[1] and b.shape[1] >= 1
import heald as wp


@wp.kernel
def unflatten(a: wp.array(dtype=float), b: wp.array2d(dtype=float)):
    t = wp.tid()
    w = b.shape[1]
    b[t // w, t // w] = a[t]
