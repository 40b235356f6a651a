# Proved.
# Where dim[0] == a.shape[0] and a.shape[0] >= 1
import heald as wp


@wp.kernel
def mark(a: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a[i].x = a[0].y
