# Proved.
# Where dim[0] == a.shape[0] and dim[0] >= 2
import heald as wp


@wp.kernel
def set_ends(a: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    if i == 0:
        a[0] = wp.vec2(1.0, 2.0)
    if i == 1:
        a[1].x = 3.0
