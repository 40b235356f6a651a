# Refuted: bounds.
# Where dim[0] == 16 * a.shape[0] and a.shape[1] == 16
import heald as wp


@wp.kernel
def fill(a: wp.array2d(dtype=float)):
    t = wp.tid()
    a[t // 16, t % 17] = float(t)
