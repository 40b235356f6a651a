# Proved.
# Where dim == counts.shape and a.shape[0] == 1
import heald as wp


@wp.kernel
def shift_twice(counts: wp.array(dtype=int), a: wp.array(dtype=int)):
    i = wp.tid()
    count = counts[i] & 31
    x = i & 1023
    narrow = x >> count
    wide = wp.int64(x) >> wp.int64(count)
    a[narrow - int(wide)] += 1
