# Refuted: races.
# Launches: columns of one matrix
import heald as wp


@wp.kernel
def set_to(m: wp.array(dtype=float, ndim=2), value: float):
    i, j = wp.tid()
    m[i, j] = value


def sequence():
    m = wp.zeros((4, 6))
    left = wp.launch(set_to, dim=(4, 3), inputs=[m[:, :3], 1.0], record_cmd=True)
    right = wp.launch(set_to, dim=(4, 3), inputs=[m[:, 2:], 2.0], record_cmd=True)
    return wp.verify_sequence([left, right])
