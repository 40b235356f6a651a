# Refuted: bounds.
# Where dim[0] == a.shape[0]
import heald as wp


@wp.kernel
def local(a: wp.array(dtype=float)):
    i = wp.tid()
    buffer = wp.zeros(shape=4, dtype=float)
    for k in range(5):
        buffer[k] = float(k)
    a[i] = buffer[i % 4]
