"""Unsigned integers: interleaved bits, and back."""

from typing import Any

import numpy as np

import heald as wp

DIM = 64


@wp.func
def spread(x: wp.uint32):
    x = (x | (x << 8)) & wp.uint32(0x00FF00FF)
    x = (x | (x << 4)) & wp.uint32(0x0F0F0F0F)
    x = (x | (x << 2)) & wp.uint32(0x33333333)
    return (x | (x << 1)) & wp.uint32(0x55555555)


@wp.func
def gather(code: wp.uint32):
    x = wp.uint16(0)
    for k in wp.static(range(16)):
        x |= wp.uint16((code >> (2 * k)) & 1) << k
    return x


@wp.kernel
def kernel(
    x: wp.array(dtype=wp.uint16),
    y: wp.array(dtype=wp.uint16),
    code: wp.array(dtype=wp.uint32),
    back: wp.array(dtype=wp.uint16),
):
    i = wp.tid()
    code[i] = spread(wp.uint32(x[i])) | (spread(wp.uint32(y[i])) << 1)
    back[i] = gather(code[i]) ^ gather(code[i] >> 1)


def arguments(random: np.random.Generator) -> dict[str, Any]:
    x, y = random.integers(0, 1 << 16, (2, DIM)).astype(np.uint16)
    return {"x": x, "y": y, "code": np.zeros(DIM, np.uint32), "back": np.zeros(DIM, np.uint16)}


def expected(x: Any, y: Any, code: Any, back: Any) -> dict[str, Any]:
    codes = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        bits = [(a >> k & 1) << 2 * k | (b >> k & 1) << 2 * k + 1 for k in range(16)]
        codes.append(sum(bits))
    return {"code": np.array(codes, np.uint32), "back": x ^ y}
