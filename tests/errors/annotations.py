# ruff: noqa
# fmt: off
"""Annotations that are missing or mean no type."""

from __future__ import annotations

import heald as wp


@wp.kernel
def missing(a, n: int, b):  #~ H0207 H0207
    pass


@wp.kernel
def wrong(a: wp.array(dtype=float), s: str, t: [1, 2]):  #~ H0207 H0207
    pass


@wp.kernel
def unknown(a: wp.array(dtype=undefined)):  #~ H0207
    pass


@wp.kernel
def locals_(a: wp.array(dtype=float)):
    x: wp.Float = 1.0  #~ H0207
    y: wp.floating = 1.0  #~ H0207
    z: wp.array(dtype=float) = a  #~ H0207
    a[0]: float = 1.0  #~ H0109
    w: int = 1.5  #~ H0202
    v: int = a[0]  #~ H0205
    u: wp.float64 = 1.0
    u = wp.vec3()  #~ H0201
    t: "not a type" = 1  #~ H0207


@wp.func
def gives_text(x: float) -> str:  #~ H0207
    return x


@wp.func
def gives_unknown(x: float) -> undefined:  #~ H0207
    return x


@wp.func
def gives_more(x: float) -> int:
    return x  #~ H0105


@wp.func
def gives_two(x: float) -> tuple[float, int]:
    if x > 0.0:
        return x, 2
    return x  #~ H0105


@wp.func
def gives_nothing(x: float) -> float:  #~ H0105
    pass


@wp.func
def gives_something(x: float) -> None:
    return 1.0  #~ H0105


@wp.kernel
def results(a: wp.array(dtype=float)):
    gives_text(a[0])
    gives_unknown(a[0])
    gives_more(a[0])
    gives_two(a[0])
    gives_nothing(a[0])
    gives_something(a[0])


wp.array(dtype=float, monotone=True)  #~ H0211

wp.array(dtype=int, ndim=2, injective=True)  #~ H0211

wp.array(dtype=int, elem=3)  #~ H0211

wp.array(dtype=int, access="all")  #~ H0211

wp.array(dtype=int, shape=("n", 1.5))  #~ H0211

wp.array(dtype=int, shape=("n",), ndim=2)  #~ H0211

wp.array(dtype=int, monotone="yes")  #~ H0211


@wp.kernel
def promises(n: int):
    wp.requires(n)  #~ H0201


@wp.kernel
def gives(a: wp.array(dtype=float)) -> float:  #~ H0105
    a[0] = 1.0


@wp.kernel
def gives_none(a: wp.array(dtype=float)) -> None:
    a[0] = 1.0


@wp.kernel
def by_example(a: wp.array(dtype=int, shape=(4,)), v: wp.vec3(1.0, 2.0, 3.0)):  #~ H0207 H0207
    pass
