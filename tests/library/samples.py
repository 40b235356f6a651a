"""Arguments for builtins: special values, random bit patterns, and numbers of everyday size."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heald.library.registry import Below, Interval, NonZero, Overload, Scaled, Unit
from heald.types import (
    Quaternion,
    Scalar,
    Transform,
    Type,
    b1,
    bf16,
    f16,
    f32,
    f64,
    numpy_dtype,
)
from heald.types.descriptors import from_bfloat16, to_bfloat16

NDArray = npt.NDArray[Any]

TINY = {f16: 2.0**-24, bf16: 2.0**-133, f32: 2.0**-149, f64: 2.0**-1074}
LARGEST = {f16: 65504.0, bf16: 3.3895313892515355e38, f32: float(np.finfo("f4").max)}
LARGEST[f64] = float(np.finfo("f8").max)
LOWEST_NORMAL = {f16: 2.0**-14, bf16: 2.0**-126, f32: 2.0**-126, f64: 2.0**-1022}


def to_carrier(t: Scalar, values: Any) -> NDArray:
    """Numbers as the carrier of ``t``; floats are rounded."""
    with np.errstate(all="ignore"):
        if t is bf16:
            return np.asarray(to_bfloat16(np.asarray(values, np.float32)))
        return np.asarray(values).astype(t.carrier)


def to_numbers(t: Scalar, carried: NDArray) -> NDArray:
    """What a carrier array holds: bfloat16 as float32, everything else itself."""
    return np.asarray(from_bfloat16(carried)) if t is bf16 else carried


def specials(t: Scalar) -> NDArray:
    """Values at which functions go wrong."""
    if t is b1:
        return np.array([False, True])
    if t.is_integer:
        ends = [t.lowest, t.lowest + 1, -1 % (1 << t.bits) if t.kind == "u" else -1]
        return np.array([*ends, 0, 1, 2, 3, 7, 10, t.highest - 1, t.highest], dtype=t.carrier)
    positive = [0.0, TINY[t], LOWEST_NORMAL[t], 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0]
    positive += [0.1, 0.7, math.pi / 2, math.pi, 1e4, LARGEST[t], math.inf]
    return to_carrier(t, [*positive, *(-x for x in positive), math.nan])


def random_bits(t: Scalar, count: int, rng: np.random.Generator) -> NDArray:
    """Any bit pattern."""
    if t is b1:
        return rng.integers(0, 2, count).astype(bool)
    raw = (
        rng.integers(0, 1 << t.bits, count, dtype=np.uint64, endpoint=False)
        if t.bits < 64
        else (rng.integers(0, np.iinfo(np.uint64).max, count, dtype=np.uint64, endpoint=True))
    )
    return raw.astype(f"u{t.bits // 8}").view(t.carrier)


def scalars(t: Scalar, count: int, rng: np.random.Generator) -> NDArray:
    """A third random bits, a third logarithmic around 1, a third small; specials first."""
    parts = [specials(t), random_bits(t, count // 3, rng)]
    if t.is_float:
        sign = rng.choice([-1.0, 1.0], count // 3)
        parts.append(to_carrier(t, sign * np.exp(rng.uniform(-12, 12, count // 3))))
        parts.append(to_carrier(t, rng.uniform(-4, 4, count // 3)))
    elif t.is_integer:
        low = 0 if t.kind == "u" else -20
        parts.append(rng.integers(low, 20, count // 3).astype(t.carrier))
    return np.concatenate(parts)


def arguments(
    overload: Overload, types: Sequence[Type], count: int, rng: np.random.Generator
) -> list[NDArray]:
    """One array of arguments for each parameter, inside the domain of the overload.

    Scalars that stand alone are paired at random; components of composites, scalars beside them,
    and arguments of sums are at most 1 so that rounding can be bounded.
    """
    names = overload.function.__code__.co_varnames
    bounded = isinstance(overload.accuracy, Scaled) or not all(isinstance(t, Scalar) for t in types)
    columns = []
    for name, t in zip(names, types, strict=False):
        rule = overload.domain.get(name)
        if isinstance(t, Scalar):
            column = _bounded(t, count, rng) if bounded else _shuffled(t, count, rng)
            if isinstance(rule, Interval):
                column = to_carrier(t, rng.uniform(rule.low, rule.high, count))
            if isinstance(rule, NonZero):
                column = np.where(column == 0, column.dtype.type(1), column)
        else:
            column = _components(t, count, rng, unit=isinstance(rule, Unit))
        columns.append(column[:count])
    for k, name in enumerate(names[: len(types)]):
        rule = overload.domain.get(name)
        if isinstance(rule, Below):
            t, other = types[k], names.index(rule.parameter)
            assert isinstance(t, Scalar)
            low = rng.integers(0, 9, count) if t.is_integer else rng.uniform(-2, 0, count)
            high = low + (rng.integers(1, 99, count) if t.is_integer else rng.uniform(1, 2, count))
            columns[k], columns[other] = to_carrier(t, low), to_carrier(t, high)
    return columns


def _shuffled(t: Scalar, count: int, rng: np.random.Generator) -> NDArray:
    return rng.permutation(np.resize(scalars(t, count, rng), count))


def _bounded(t: Scalar, count: int, rng: np.random.Generator) -> NDArray:
    if t.is_float:
        return to_carrier(t, rng.uniform(0, 1, count))
    return _shuffled(t, count, rng)


def _components(t: Type, count: int, rng: np.random.Generator, *, unit: bool) -> NDArray:
    dtype: Scalar = t.dtype  # type: ignore[union-attr,assignment]
    shape = numpy_dtype(t).shape
    if not dtype.is_float:
        return random_bits(dtype, count * math.prod(shape), rng).reshape(count, *shape)
    values = rng.uniform(-1, 1, (count, *shape))
    if len(shape) == 2 and shape[0] == shape[1]:
        values = values * 0.2 + np.eye(shape[0])  # well conditioned, for inverses
    if unit and isinstance(t, Transform):
        values[:, 3:] /= np.linalg.norm(values[:, 3:], axis=1, keepdims=True)
    elif unit or isinstance(t, Quaternion):
        values /= np.linalg.norm(values, axis=-1, keepdims=True)
    return to_carrier(dtype, values)
