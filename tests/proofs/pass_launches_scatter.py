# Proved.
# Launches: a scatter that stays in the lower part
import heald as wp


@wp.kernel
def scatter(idx: wp.array(dtype=int), a: wp.array(dtype=float)):
    k = idx[wp.tid()]
    if k >= 0 and k < 8:
        a[k] = 1.0


@wp.kernel
def fill(a: wp.array(dtype=float), value: float):
    a[wp.tid()] = value


def sequence():
    idx, a = wp.array([7, 3, 7, 1], dtype=int), wp.zeros(16)
    low = wp.launch(scatter, dim=4, inputs=[idx, a], record_cmd=True)
    high = wp.launch(fill, dim=8, inputs=[a[8:], 2.0], record_cmd=True)
    return wp.verify_sequence([low, high])
