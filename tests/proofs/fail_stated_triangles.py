# Refuted: bounds.
# Where dim[0] == area.shape[0]
import heald as wp


@wp.kernel
def areas(
    corners: wp.array(dtype=int, shape=("n", 3), elem=wp.index("vertices")),
    x: wp.array(dtype=wp.vec3, shape=("vertices",)),
    area: wp.array(dtype=float, shape=("n",)),
):
    t = wp.tid()
    a = x[corners[t, 0]]
    b = x[corners[t, 1]]
    c = x[corners[t, 3]]
    area[t] = wp.length(wp.cross(b - a, c - a)) / 2.0
