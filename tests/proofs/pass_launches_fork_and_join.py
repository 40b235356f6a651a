# Proved.
# Launches: two branches that meet again
import heald as wp


@wp.kernel
def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = a[i] + b[i]


def sequence():
    a, b, c, d = (wp.zeros(12) for _ in range(4))
    work = [
        wp.launch(add, dim=12, inputs=[a, a, a], record_cmd=True),
        wp.launch(add, dim=12, inputs=[a, a, b], record_cmd=True),
        wp.launch(add, dim=12, inputs=[a, a, c], record_cmd=True),
        wp.launch(add, dim=12, inputs=[b, c, d], record_cmd=True),
    ]
    return wp.verify_sequence(work, order=[(0, 1), (0, 2), (1, 3), (2, 3)])
