# Refuted: races.
# Launches: one counter of two launches: only atomics by name are atomic between launches
import heald as wp


@wp.kernel
def count(n: wp.array(dtype=int)):
    wp.atomic_add(n, 0, 1)


@wp.kernel
def count_alone(n: wp.array(dtype=int)):
    n[0] += 1


def sequence():
    n = wp.zeros(1, dtype=int)
    first = wp.launch(count, dim=4, inputs=[n], record_cmd=True)
    second = wp.launch(count_alone, dim=4, inputs=[n], record_cmd=True)
    return wp.verify_sequence([first, second])
