# Refuted: bounds.
# Where dim[0] == a.shape[0] == b.shape[0] and stride >= 1
import heald as wp


@wp.kernel
def double_step(a: wp.array(dtype=float), b: wp.array(dtype=float), stride: int):
    i = wp.tid()
    if i < stride:
        b[i] = a[i] + a[i - stride]
    else:
        b[i] = a[i]
