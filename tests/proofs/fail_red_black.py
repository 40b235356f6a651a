# Refuted: races.
# Where x.shape[0] == n and colour >= 0 and colour <= 1 and dim[0] <= 1000000000
import heald as wp


@wp.kernel
def sweep(x: wp.array(dtype=float), n: int, colour: int):
    t = wp.tid()
    j = 1 * t + colour
    if j > 0 and j < n - 1:
        x[j] = x[j - 1] + x[j + 1]
