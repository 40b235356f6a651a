# Proved.
# Launches: two halves of one array, updated in place
import heald as wp


@wp.kernel
def double(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + a[i]


def sequence():
    a = wp.zeros(12)
    low = wp.launch(double, dim=6, inputs=[a], record_cmd=True)
    high = wp.launch(double, dim=6, inputs=[a[6:]], record_cmd=True)
    return wp.verify_sequence([low, high])
