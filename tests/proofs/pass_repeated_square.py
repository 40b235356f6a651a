# Proved.
# Where a.shape[0] == 200000000 and dim[0] == 1
import heald as wp


@wp.kernel
def mark(a: wp.array(dtype=wp.uint8)):
    place = wp.tid() + 2
    for _ in range(4):
        place = place * place + 6
    if place >= 0 and place < a.shape[0]:
        a[place] = wp.uint8(1)
