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
