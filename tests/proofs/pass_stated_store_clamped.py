# Proved.
# Where dim == idx.shape and n >= 1
import heald as wp


@wp.kernel
def move(idx: wp.array(dtype=int, elem=wp.index("n")), v: wp.array(dtype=int), n: int):
    i = wp.tid()
    if i < v.shape[0]:
        idx[i] = wp.clamp(v[i], 0, n - 1)
