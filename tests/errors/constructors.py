# ruff: noqa
# fmt: off
"""Generic constructors that are given what they cannot use."""

import heald as wp


@wp.kernel
def generic_constructors(a: wp.array(dtype=float), n: int, m: wp.int64, h: wp.float16):
    x = wp.vector(dtype=float)  #~ H0305
    x = wp.vector(1.0, 2.0, length=n)  #~ H0107
    x = wp.vector(1.0, 2.0, length=0)  #~ H0107
    x = wp.vector(1.0, dtype=wp.vec3)  #~ H0207
    x = wp.vector(m, a[0])  #~ H0201
    x = wp.vector(a, a)  #~ H0206
    x = wp.matrix(1.0, 2.0, 3.0, 4.0)  #~ H0305
    x = wp.matrix(1.0, shape=4)  #~ H0206
    x = wp.quaternion(1, 2, 3, 4, dtype=int)  #~ H0207
    x = wp.quaternion(x=1.0, y=2.0)  #~ H0305


@wp.kernel
def parts_of_transforms(a: wp.array(dtype=float)):
    x = wp.transform(p=1.0)  #~ H0206
    x = wp.transform(q=wp.vec3())  #~ H0206
