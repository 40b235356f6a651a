# Refuted: races.
# Launches: a producer and a consumer on two streams, with an event between
import heald as wp


@wp.kernel
def fill(a: wp.array(dtype=float), value: float):
    a[wp.tid()] = value


@wp.kernel
def consume(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = b[i] + a[i]


def sequence():
    a, b = wp.zeros(12), wp.zeros(12)
    made = wp.launch(fill, dim=12, inputs=[a, 1.0], record_cmd=True)
    cleared = wp.launch(fill, dim=12, inputs=[b, 0.0], record_cmd=True)
    used = wp.launch(consume, dim=12, inputs=[a, b], record_cmd=True)
    return wp.verify_sequence(
        [made, cleared, used], streams=["left", "right", "right"], order=[(1, 2)]
    )
