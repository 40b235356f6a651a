# Refuted: races.
# Launches: parts of one array, told apart by an argument
import heald as wp


@wp.kernel
def mark(a: wp.array(dtype=int), first: int):
    i = first + wp.tid()
    a[i] = first


def sequence():
    a = wp.zeros(16, dtype=int)
    low = wp.launch(mark, dim=8, inputs=[a, 0], record_cmd=True)
    high = wp.launch(mark, dim=8, inputs=[a, 7], record_cmd=True)
    return wp.verify_sequence([low, high])
