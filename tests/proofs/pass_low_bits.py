# Proved.
# Where dim[0] == a.shape[0] and table.shape[0] == 8
import heald as wp


@wp.kernel
def look_up(a: wp.array(dtype=float), table: wp.array(dtype=float)):
    t = wp.tid()
    a[t] = table[t & 7]
