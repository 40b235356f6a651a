# Proved.
# Where dim == o.shape == cx.shape and cs.shape[0] == nc + 1 and nc >= 0 and m.shape == ids.shape
import heald as wp


@wp.kernel
def sums(
    cx: wp.array(dtype=int),
    cs: wp.array(dtype=int),
    ids: wp.array(dtype=int),
    m: wp.array(dtype=float),
    o: wp.array(dtype=float),
    nc: int,
):
    t = wp.tid()
    s = 0.0
    for d in range(-1, 2):
        c = wp.int64(cx[t]) + wp.int64(d)
        if c >= wp.int64(0) and c < wp.int64(nc):
            for p in range(max(cs[c], 0), min(cs[c + wp.int64(1)], ids.shape[0])):
                s += m[p]
    o[t] = s
