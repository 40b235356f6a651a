# Refuted: overflow.
# Where dim == counts.shape and dim[0] <= 1000
import heald as wp


@wp.kernel
def scale(counts: wp.array(dtype=int), a: wp.array(dtype=int)):
    i = wp.tid()
    count = counts[i]
    if count >= 0 and count < 32:
        place = i << count
        if place < a.shape[0]:
            a[place] += 1
