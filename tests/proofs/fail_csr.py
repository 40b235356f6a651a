# Refuted: bounds.
# Where dim[0] == y.shape[0] and rp.shape[0] == dim[0] + 1
import heald as wp


@wp.kernel
def spmv(
    rp: wp.array(dtype=int),
    ci: wp.array(dtype=int),
    val: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    r = wp.tid()
    s = 0.0
    for p in range(max(rp[r], 0), min(rp[r + 1], ci.shape[0], val.shape[0])):
        c = ci[p]
        if c >= 0 and c <= x.shape[0]:
            s += val[p] * x[c]
    y[r] = s
