# Proved.
# Where dim[0] == p.shape[0] == o.shape[0] and a.shape[0] >= 2 and a.shape[1] >= 2
import heald as wp


@wp.kernel
def sample(a: wp.array2d(dtype=float), p: wp.array(dtype=wp.vec2), o: wp.array(dtype=float)):
    t = wp.tid()
    i = min(max(int(p[t][0]), 0), a.shape[0] - 2)
    j = min(max(int(p[t][1]), 0), a.shape[1] - 2)
    o[t] = a[i, j] + a[i + 1, j] + a[i, j + 1] + a[i + 1, j + 1]
