# ruff: noqa
# fmt: off
"""Structs with members that a kernel cannot hold."""

import ctypes

import numpy as np

import heald as wp


@wp.struct
class Members:
    position: wp.vec3
    name: str  #~ H0208
    pointer: ctypes.c_void_p  #~ H0208
    neighbours: list  #~ H0208
    grid: np.ndarray  #~ H0208
    owner: object  #~ H0208
    generic: wp.Float  #~ H0208
    radius: float = 1.0  #~ H0208
    later: "Undefined"  #~ H0208
    count = 5  #~ H0208


@wp.struct
class Derived(dict):  #~ H0208
    x: float


@wp.struct
class Empty:  #~ H0208
    pass


@wp.struct
class Good:
    points: wp.array(dtype=wp.vec3)
    count: int


good = Good()

good.cuont = 3  #~ H0303

good.count = 1.5  #~ H0201

wp.zeros(3, dtype=Good)  #~ H0208

wp.struct(3)  #~ H0208
