# Refuted: races.
# Launches: ghosts of two neighbours, exchanged at the same time
import heald as wp


@wp.kernel
def send(source: wp.array(dtype=float), k: int, target: wp.array(dtype=float), m: int):
    target[m] = source[k]


def sequence():
    left, right = wp.zeros(10), wp.zeros(10)
    there = wp.launch(send, dim=1, inputs=[left, 8, right, 0], record_cmd=True)
    back = wp.launch(send, dim=1, inputs=[right, 0, left, 9], record_cmd=True)
    return wp.verify_sequence([there, back])
