"""64-bit integers: greatest common divisors and powers modulo a prime."""

from typing import Any

import numpy as np

import heald as wp

DIM = 50
PRIME = 2147483629


@wp.func
def gcd(a: wp.int64, b: wp.int64):
    while b:
        a, b = b, a % b
    return a


@wp.kernel
def kernel(
    a: wp.array(dtype=wp.int64),
    b: wp.array(dtype=wp.int64),
    c: wp.array(dtype=wp.int64),
    d: wp.array(dtype=wp.int64),
):
    i = wp.tid()
    c[i] = gcd(a[i], b[i])
    base = a[i] % wp.int64(PRIME)
    exponent = wp.abs(b[i])
    power = wp.int64(1)
    while exponent > 0:
        if exponent & 1:
            power = power * base % wp.int64(PRIME)
        base = base * base % wp.int64(PRIME)
        exponent >>= 1
    d[i] = power


def arguments(random: np.random.Generator) -> dict[str, Any]:
    a, b = random.integers(-(1 << 60), 1 << 60, (2, DIM))
    b[::7] = 0
    return {"a": a, "b": b, "c": np.zeros(DIM, np.int64), "d": np.zeros(DIM, np.int64)}


def expected(a: Any, b: Any, c: Any, d: Any) -> dict[str, Any]:
    def gcd(x: int, y: int) -> int:
        while y:
            x, y = y, x % y
        return x

    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    powers = [pow(x % PRIME, abs(y), PRIME) for x, y in pairs]
    return {"c": np.array([gcd(x, y) for x, y in pairs]), "d": np.array(powers)}
