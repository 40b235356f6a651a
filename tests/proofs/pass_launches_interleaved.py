# Proved.
# Launches: every second element, told apart by an argument
import heald as wp


@wp.kernel
def mark(a: wp.array(dtype=int), first: int):
    a[2 * wp.tid() + first] = first


def sequence():
    a = wp.zeros(16, dtype=int)
    even = wp.launch(mark, dim=7, inputs=[a, 0], record_cmd=True)
    odd = wp.launch(mark, dim=7, inputs=[a, 1], record_cmd=True)
    return wp.verify_sequence([even, odd])
