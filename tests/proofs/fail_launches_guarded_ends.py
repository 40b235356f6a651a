# Refuted: races.
# Launches: two parts with guards, each in more threads than it has elements
import heald as wp


@wp.kernel
def below(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i < n:
        a[i] = 1.0


@wp.kernel
def above(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i >= n:
        a[i] = 2.0


def sequence():
    a = wp.zeros(12)
    first = wp.launch(below, dim=12, inputs=[a, 5], record_cmd=True)
    second = wp.launch(above, dim=12, inputs=[a, 4], record_cmd=True)
    return wp.verify_sequence([first, second])
