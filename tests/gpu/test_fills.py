"""Fills of arrays of every kind of element on a GPU, which the host has no part in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import DeviceError

pytestmark = pytest.mark.gpu
GPU = "cuda:0"


@wp.struct
class Body:
    mass: wp.float64
    place: wp.vec3
    kind: wp.int8


def body() -> Any:
    return Body(mass=2.5, place=wp.vec3(1.0, 2.0, 3.0), kind=-7)


@wp.struct
class Bytes:
    a: wp.int8
    b: wp.vec2h


VALUES: dict[str, tuple[Any, Any]] = {
    "int8": (wp.int8, -3),
    "float16": (wp.float16, 1.5),
    "float32": (wp.float32, 0.1),
    "float64": (wp.float64, 0.1),
    "int64": (wp.int64, -(1 << 40) + 3),
    "vec2": (wp.vec2, wp.vec2(0.1, -2.0)),
    "vec3": (wp.vec3, wp.vec3(0.1, -2.0, 7.0)),
    "vec3 of one number": (wp.vec3, wp.vec3(0.1, 0.1, 0.1)),
    "mat44": (wp.mat44, wp.mat44(*[float(k) for k in range(16)])),
    "struct": (Body, body()),
    "small struct": (Bytes, Bytes(a=5, b=wp.vec2h(1.0, -2.0))),
}
FILLED: dict[str, Callable[[wp.array], wp.array]] = {
    "all": lambda a: a,
    "a part": lambda a: a[1:, 1:],
    "rows": lambda a: a[1:3],
    "every other": lambda a: a[::2, 1::3],
    "backwards": lambda a: a[::-2, ::-1],
    "turned": lambda a: a.transpose((3, 1, 0, 2))[:, ::2],
    "gaps everywhere": lambda a: a[::2, ::2, ::2, ::2],
    "nothing": lambda a: a[2:2],
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("part", FILLED)
@pytest.mark.parametrize("name", VALUES)
def test_parts_of_arrays(name: str, part: str, captured: bool) -> None:
    """What a CPU has, and nothing beside it."""
    dtype, value = VALUES[name]
    arrays = [wp.zeros((5, 7, 3, 4), dtype=dtype, device=d) for d in (GPU, "cpu")]
    if captured:
        with wp.ScopedCapture(GPU) as capture:
            FILLED[part](arrays[0]).fill_(value)
        assert not arrays[0].numpy().tobytes().strip(b"\0"), "nothing has run yet"
        for _ in range(2):
            arrays[0].zero_()
            wp.capture_launch(capture.graph)
    else:
        FILLED[part](arrays[0]).fill_(value)
    FILLED[part](arrays[1]).fill_(value)
    assert arrays[0].numpy().tobytes() == arrays[1].numpy().tobytes()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000, (1 << 20) + 1])
@pytest.mark.parametrize("name", VALUES)
def test_arrays_of_many_lengths(name: str, count: int) -> None:
    dtype, value = VALUES[name]
    wanted = wp.full(count, value, dtype=dtype, device="cpu").numpy().tobytes()
    assert wp.full(count, value, dtype=dtype, device=GPU).numpy().tobytes() == wanted
    made = []
    with wp.ScopedCapture(GPU) as capture:
        made.append(wp.full(count, value, dtype=dtype, device=GPU))
    wp.capture_launch(capture.graph)
    assert made[0].numpy().tobytes() == wanted


def test_ones_and_zeros_inside_a_capture() -> None:
    made: list[wp.array] = []
    with wp.ScopedCapture(GPU) as capture:
        for dtype in (wp.float64, wp.int64, wp.vec3, wp.mat33d):
            made += [make(5, dtype=dtype, device=GPU) for make in (wp.ones, wp.zeros)]
        made.append(wp.ones_like(made[0]))
    wp.capture_launch(capture.graph)
    for k, a in enumerate(made):
        assert (a.numpy() == (0 if k % 2 else 1)).all()


@wp.kernel
def slowly(x: wp.array(dtype=wp.float64), n: int):
    i = wp.tid()
    v = x[i]
    for _ in range(n):
        v = v * wp.float64(0.5) + wp.float64(1.0)
    x[i] = v


def test_fills_keep_the_order_of_their_stream() -> None:
    n = 1 << 18
    stream, a = wp.Stream(GPU), wp.zeros(n, dtype=wp.float64, device=GPU)
    copies = [wp.zeros(n, dtype=wp.float64, device=GPU) for _ in range(3)]
    wp.synchronize(GPU)
    with wp.ScopedStream(stream):
        for k, seen in enumerate(copies):
            a.fill_(100.0 + k)
            wp.copy(seen, a)
            wp.launch(slowly, dim=n, inputs=[a, 3000], stream=stream)
        a[::2].fill_(-1.5)
        rest = a.numpy()
    for k, seen in enumerate(copies):
        assert (seen.numpy() == 100.0 + k).all()
    assert (rest[::2] == -1.5).all()
    assert (rest[1::2] == 2).all()


def test_more_elements_than_a_word_counts() -> None:
    """Of one byte each; and of 8 bytes, more than 4 GiB of them."""
    try:
        small = wp.full((1 << 32) + 3, -3, dtype=wp.int8, device=GPU)
        large = wp.full((1 << 29) + 3, 0.1, dtype=wp.float64, device=GPU)
    except DeviceError as error:
        if error.codes != ("H0802",):
            raise
        pytest.skip("the GPU has not enough memory")
    for a, value in ((small, -3), (large, 0.1)):
        for start in (0, 1 << 28, len(a) - 5):
            np.testing.assert_array_equal(a[start : start + 5].numpy(), value)
