# Refuted: contracts.
# Where dim == v.shape and n >= 1
import heald as wp


@wp.kernel
def claim(
    slot: wp.array(dtype=int, shape=(1,), elem=wp.index("n")),
    v: wp.array(dtype=int, elem=wp.index("n")),
    n: int,
):
    i = wp.tid()
    wp.atomic_add(slot, 0, v[i])
