# ruff: noqa
# fmt: off
"""Launches, options and host calls that are refused before anything runs."""

import numpy as np

import heald as wp


@wp.struct
class Particle:
    position: wp.vec3
    mass: float


@wp.kernel
def scale(a: wp.array(dtype=float), factor: float, n: int):
    i = wp.tid()
    a[i] = a[i] * factor


@wp.kernel
def grid(a: wp.array(dtype=wp.vec3, ndim=2), p: Particle):
    i, j = wp.tid()
    a[i, j] = p.position


@wp.kernel
def generic(a: wp.array(dtype=wp.Any), x: wp.Float):
    a[0] = a[0]


floats = wp.zeros(4, dtype=float)
vectors = wp.zeros((2, 2), dtype=wp.vec3)

wp.launch(scale, dim=4, inputs=[floats])  #~ H0701

wp.launch(scale, dim=4, inputs=[floats, 1.0, 2, 3])  #~ H0701

wp.launch(scale, dim=4, inputs=[1.0, 1.0, 2])  #~ H0702

wp.launch(scale, dim=4, inputs=[wp.zeros(4, dtype=int), 1.0, 2])  #~ H0702

wp.launch(scale, dim=4, inputs=[floats, "fast", 2])  #~ H0702

wp.launch(scale, dim=4, inputs=[floats, 1.0, 2.5])  #~ H0702

wp.launch(scale, dim=4, inputs=[floats, 1.0, 2**40])  #~ H0702

wp.launch(scale, dim=4, inputs=[np.zeros(4), 1.0, 2])  #~ H0702

wp.launch(grid, dim=(2, 2), inputs=[vectors, wp.vec3()])  #~ H0702

generic.prepare()  #~ H0702
wp.launch(generic, dim=1, inputs=[floats, 1])

wp.launch(generic, dim=1, inputs=[floats, floats])  #~ H0702


wp.launch(scale, dim=4, inputs=[vectors, 1.0, 2])  #~ H0702

wp.launch(scale, dim=4, inputs=[wp.zeros((2, 2), dtype=float), 1.0, 2])  #~ H0703

wp.launch(scale, dim=4, inputs=[wp.zeros(4, dtype=float, device="sim"), 1.0, 2])  #~ H0704

frozen = np.zeros(4, np.float32)
frozen.flags.writeable = False

wp.launch(scale, dim=4, inputs=[frozen, 1.0, 2])  #~ H0705

wp.launch(scale, dim=-1, inputs=[floats, 1.0, 2])  #~ H0706

wp.launch(scale, dim=(2, 2), inputs=[floats, 1.0, 2])  #~ H0706

wp.launch(scale, dim=(1, 1, 1, 1, 1), inputs=[floats, 1.0, 2])  #~ H0706

wp.launch(scale, dim=4, inputs=[floats, 1.0, 2], block_dim=0)  #~ H0706

wp.launch(np.sin, dim=4)  #~ H0707

wp.launch(scale, dim=4, inputs=[floats, 1.0, 2], blockdim=64)  #~ H0707

wp.launch(scale, dim=4, inputs=floats)  #~ H0701

scale(floats, 1.0, 2)  #~ H0707

recorded = wp.launch(scale, dim=4, inputs=[floats, 1.0, 2], record_cmd=True)

recorded.set_param_at_index(3, 1.0)  #~ H0715

recorded.set_param_by_name("facto", 1.0)  #~ H0715

wp.get_kernel("no.such.kernel")  #~ H0707

wp.set_module_options({"fastmath": True})  #~ H0707


@wp.kernel(fastmath=True)  # an option that does not exist
def misspelt(a: wp.array(dtype=float)):  #~ H0707
    pass


@wp.func
def outer(a: wp.array(dtype=float)):
    return a[0]


@wp.func
def thread():
    return wp.tid()  #~ H0710


outer(floats)  #~ H0702

thread()

wp.sin("x")  #~ H0702

wp.tid()  #~ H0713

wp.zeros(-3, dtype=float)  #~ H0711

wp.array([[1.0], [1.0, 2.0]], dtype=float)  #~ H0712

wp.zeros(3, dtype=float, requires_grad=True)  #~ H0716

hashes = wp.HashGrid(4, 4, 4)

hashes.id  #~ H0714


@wp.kernel
def wide(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + i  #~ H0201


wp.launch(wide, dim=2**31, inputs=[floats])  #~ H0210


@wp.kernel
def shapes(a: wp.array(dtype=float, shape=("n",)), b: wp.array(dtype=float, shape=("2 * n",))):
    pass


wp.launch(shapes, dim=1, inputs=[floats, floats])  #~ H0717


@wp.func
def first(a: wp.array(dtype=int, access="read")):
    return a[0]


@wp.kernel
def misplaced(a: wp.array(dtype=int)):
    a[0] = first(a)  #~ H0211


@wp.struct
class Promised:
    a: wp.array(dtype=int, access="read")  #~ H0208


@wp.kernel(check_contracts=True)
def contents(a: wp.array(dtype=int, elem=wp.within(1, 2))):
    pass


wp.launch(contents, dim=1, inputs=[wp.zeros(1, dtype=int)])  #~ H0412


ints = wp.zeros(1, dtype=int)


@wp.kernel
def contracts(
    a: wp.array(dtype=int, elem=wp.index("q")),  #~ H0211
    b: wp.array(dtype=int, shape=("n",)),
):
    pass


wp.launch(contracts, dim=1, inputs=[ints, ints])


@wp.kernel
def modes(a: wp.array(dtype=int, access="read"), b: wp.array(dtype=int, access="write")):
    i = wp.tid()
    a[i] = 1  #~ H0411
    b[i] += 1  #~ H0411
    b[i] = a[i] + b[i:][0]  #~ H0411


wp.launch(modes, dim=1, inputs=[ints, ints])
