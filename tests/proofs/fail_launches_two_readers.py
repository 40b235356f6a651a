# Refuted: races.
# Launches: two launches read one array and write others
import heald as wp


@wp.kernel
def smooth(a: wp.array(dtype=float), b: wp.array(dtype=float), w: float):
    i = wp.tid()
    if i > 0 and i < a.shape[0] - 1:
        b[i] = w * (a[i - 1] + a[i + 1])


def sequence():
    a, b, c = wp.ones(12), wp.zeros(12), wp.zeros(12)
    one = wp.launch(smooth, dim=12, inputs=[a, b, 0.5], record_cmd=True)
    two = wp.launch(smooth, dim=12, inputs=[a, b, 0.25], record_cmd=True)
    assert c.size == b.size
    return wp.verify_sequence([one, two])
