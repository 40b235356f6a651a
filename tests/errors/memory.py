# ruff: noqa
# fmt: off
"""What threads must not do: faults at run time, and memory that is not there."""

import numpy as np

import heald as wp


@wp.kernel
def outside(a: wp.array(dtype=float, ndim=2), shift: int):
    i, j = wp.tid()
    a[i + shift, j] = 1.0  #~ H0401 H0401


wp.launch(outside, dim=(2, 3), inputs=[wp.zeros((2, 3), dtype=float), 1])

wp.launch(outside, dim=(2, 3), inputs=[wp.zeros((2, 3), dtype=float), -1])


@wp.func
def first_half(a: wp.array(dtype=float), n: int):
    return a[:n]


@wp.kernel
def views(a: wp.array(dtype=float), n: int):
    half = first_half(a, n)  # slices end where the array ends, as in Python
    a[0] = half[3]  #~ H0401


wp.launch(views, dim=1, inputs=[wp.zeros(4, dtype=float), 2])


@wp.kernel
def local(a: wp.array(dtype=float), k: int):
    z = wp.zeros(shape=4, dtype=float)
    a[0] = z[k]  #~ H0401


wp.launch(local, dim=1, inputs=[wp.zeros(4, dtype=float), 4])


@wp.kernel
def divide(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    a[i] = 10 // (i - n)  #~ H0402


wp.launch(divide, dim=4, inputs=[wp.zeros(4, dtype=int), 2])


@wp.kernel
def steps(a: wp.array(dtype=int), step: int):
    for i in range(0, 4, step):  #~ H0403
        a[i] = 1


wp.launch(steps, dim=1, inputs=[wp.zeros(4, dtype=int), 0])


@wp.kernel
def checks(a: wp.array(dtype=float)):
    i = wp.tid()
    assert a[i] >= 0.0, "a length is never negative"  #~ H0404
    wp.expect_near(a[i], 1.0, 0.5)  #~ H0404


wp.launch(checks, dim=2, inputs=[wp.array([1.0, -1.0], dtype=float)])

wp.launch(checks, dim=2, inputs=[wp.array([1.0, 5.0], dtype=float)])


@wp.kernel
def neighbours(grid: wp.uint64, counts: wp.array(dtype=int)):
    for j in wp.hash_grid_query(grid, wp.vec3(), 1.0):  #~ H0406
        counts[0] += 1


wp.launch(neighbours, dim=1, inputs=[12345, wp.zeros(1, dtype=int)])


@wp.kernel
def too_large(a: wp.array(dtype=float), k: int):
    z = wp.zeros(shape=60000, dtype=wp.mat44)  #~ H0407
    a[0] = z[k][0, 0]


wp.launch(too_large, dim=1, inputs=[wp.zeros(1, dtype=float), 0])


@wp.kernel
def indexed(x: wp.indexedarray2d(dtype=float), y: wp.array2d(dtype=float), c: int):
    z = x if c > 0 else y  #~ H0204
    y[0, 0] = x[0, 0, 0]  #~ H0209
    y[0, 0] = x + 1.0  #~ H0201
    y[0, 0] = x.strides  #~ H0303
    x[0] = 1.0  #~ H0109
    x.data = y  #~ H0109
    wp.atomic_add(x, 0, 1.0)  #~ H0203


TABLE = wp.constant(np.arange(4.0))


@wp.kernel
def writes_to_a_table(a: wp.array(dtype=float)):
    row = TABLE[1:]
    TABLE[0] = 1.0  #~ H0413
    row[wp.tid()] += 2.0  #~ H0413
