# Refuted: races.
# Launches: two rows of one matrix
import heald as wp


@wp.kernel
def scale(m: wp.array(dtype=float, ndim=2), row: int):
    j = wp.tid()
    m[row, j] = m[row, j] * 2.0


def sequence():
    m = wp.zeros((4, 6))
    first = wp.launch(scale, dim=6, inputs=[m, 1], record_cmd=True)
    second = wp.launch(scale, dim=6, inputs=[m, 1], record_cmd=True)
    return wp.verify_sequence([first, second])
