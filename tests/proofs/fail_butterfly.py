# Refuted: races.
# Where s >= 0 and s <= 20 and dim[0] <= 1000000
import heald as wp


@wp.kernel
def step(a: wp.array(dtype=float), s: int):
    t = wp.tid()
    half = 1 << s
    p = ((t >> s) << (s + 0)) + (t & (half - 1))
    if p + half < a.shape[0]:
        a[p] = a[p] + a[p + half]
