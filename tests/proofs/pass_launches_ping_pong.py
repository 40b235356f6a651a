# Proved.
# Launches: two buffers, each step after the one before
import heald as wp


@wp.kernel
def smooth(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0 and i < a.shape[0] - 1:
        b[i] = 0.5 * (a[i - 1] + a[i + 1])


def sequence():
    a, b = wp.zeros(16), wp.zeros(16)
    steps = [
        wp.launch(smooth, dim=16, inputs=[a, b], record_cmd=True),
        wp.launch(smooth, dim=16, inputs=[b, a], record_cmd=True),
        wp.launch(smooth, dim=16, inputs=[a, b], record_cmd=True),
    ]
    return wp.verify_sequence(steps, order=[(0, 1), (1, 2)])
