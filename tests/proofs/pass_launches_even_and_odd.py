# Proved.
# Launches: elements of even and of odd index
import heald as wp


@wp.kernel
def fill(a: wp.array(dtype=float), value: float):
    a[wp.tid()] = value


def sequence():
    a = wp.zeros(13)
    even = wp.launch(fill, dim=6, inputs=[a[0::2], 1.0], record_cmd=True)
    odd = wp.launch(fill, dim=6, inputs=[a[1::2], 2.0], record_cmd=True)
    return wp.verify_sequence([even, odd])
