# Refuted: races.
# Launches: the interior is updated while ghosts arrive
import heald as wp


@wp.kernel
def receive(ghosts: wp.array(dtype=float), u: wp.array(dtype=float)):
    i = wp.tid()
    u[i * (u.shape[0] - 1)] = ghosts[i]


@wp.kernel
def update(u: wp.array(dtype=float), first: int, v: wp.array(dtype=float)):
    i = wp.tid() + first
    v[i] = u[i - 1] + u[i + 1]


def sequence():
    u, v, ghosts = wp.zeros(10), wp.zeros(10), wp.zeros(2)
    arrive = wp.launch(receive, dim=2, inputs=[ghosts, u], record_cmd=True)
    interior = wp.launch(update, dim=6, inputs=[u, 1, v], record_cmd=True)
    return wp.verify_sequence([arrive, interior])
