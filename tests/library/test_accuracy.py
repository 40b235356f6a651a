"""Every builtin keeps its promise about rounding, for every dtype, on the simulator."""

import importlib
import zlib
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate
from library.instances import Instance, instances
from library.references import COMPOSITE, EXACT, FLOAT64, MPMATH
from library.samples import LARGEST, TINY, arguments, to_carrier, to_numbers

from heald.library.registry import Exact, Scaled, Ulp
from heald.types import Scalar, Type, b1, bf16, f16, f32, f64

NDArray = npt.NDArray[Any]
MANTISSA = {f16: 10, bf16: 7, f32: 23, f64: 52}
ALL = list(instances())


def component(t: Type) -> Scalar:
    return t if isinstance(t, Scalar) else t.dtype  # type: ignore[union-attr,return-value]


def numbers(types: Sequence[Type], columns: Sequence[NDArray]) -> list[NDArray]:
    return [to_numbers(component(t), c) for t, c in zip(types, columns, strict=True)]


def prepare(instance: Instance, count: int) -> tuple[list[NDArray], NDArray]:
    """Arguments, and what the builtin makes of them."""
    rng = np.random.default_rng(zlib.crc32(str(instance).encode()))
    columns = arguments(instance.overload, instance.types, count, rng)
    inputs = [Typed(t, c) for t, c in zip(instance.types, columns, strict=True)]
    assert instance.result is not None
    (got,) = evaluate(instance.call, *inputs, results=[instance.result])
    return columns, got


def resolve(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def same_bits(t: Scalar, a: NDArray, b: NDArray) -> NDArray:
    """NaN equals NaN, and -0 differs from 0."""
    if not t.is_float:
        return a == b
    x, y = to_numbers(t, a), to_numbers(t, b)
    return ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))


EXACTLY = [
    i
    for i in ALL
    if isinstance(i.overload.accuracy, Exact) and i.builtin.group != "Random" and i.result
]


@pytest.mark.parametrize("instance", EXACTLY, ids=str)
def test_exact(instance: Instance) -> None:
    columns, got = prepare(instance, 600)
    t = component(instance.result)  # type: ignore[arg-type]
    name = instance.builtin.name
    reference = EXACT.get(name) or resolve(instance.overload.reference or f"numpy.{name}")
    with np.errstate(all="ignore"):
        wanted = reference(
            *[
                c.astype(np.float32) if c.dtype == np.float16 else c
                for c in numbers(instance.types, columns)
            ]
        )
    wanted = wanted.astype(bool) if t is b1 else to_carrier(t, wanted)
    bad = np.flatnonzero(~same_bits(t, got, wanted).reshape(len(got), -1).all(axis=1))
    shown = [([c[k] for c in columns], got[k], wanted[k]) for k in bad[:3]]
    assert not shown, f"(arguments, result, expected): {shown}"


def error_in_ulps(t: Scalar, got: NDArray, wanted: NDArray) -> NDArray:
    """Distance from the exact result in units of the last place of the exact result."""
    smallest = float(TINY[t])
    with np.errstate(all="ignore"):
        got, wanted = np.asarray(to_numbers(t, got), np.float64), np.asarray(wanted, np.float64)
        unit = np.maximum(np.exp2(np.floor(np.log2(np.abs(wanted))) - MANTISSA[t]), smallest)
        unit = np.where(np.isfinite(unit), unit, smallest)
        over = float(LARGEST[t]) * (1 + 2.0 ** -(MANTISSA[t] + 2))
        rounded = np.where(np.abs(wanted) >= over, np.copysign(np.inf, wanted), wanted)
        error = np.abs(got - rounded) / unit
    fine = (np.isnan(got) & np.isnan(rounded)) | (got == rounded)
    return np.where(fine, 0.0, np.where(np.isnan(error), np.inf, error))


ROUNDED = [i for i in ALL if isinstance(i.overload.accuracy, Ulp)]


@pytest.mark.parametrize(
    "instance", [i for i in ROUNDED if component(i.types[0]) is not f64], ids=str
)
def test_ulps_of_narrow_floats(instance: Instance) -> None:
    columns, got = prepare(instance, 6000)
    t = component(instance.types[0])
    with np.errstate(all="ignore"):
        exact = [np.asarray(c, np.float64) for c in numbers(instance.types, columns)]
        wanted = FLOAT64[instance.builtin.name](*exact)
    report_ulps(instance, t, columns, got, error_in_ulps(t, got, wanted))


def report_ulps(
    instance: Instance, t: Scalar, columns: Sequence[NDArray], got: NDArray, error: NDArray
) -> None:
    accuracy = instance.overload.accuracy
    assert isinstance(accuracy, Ulp)
    worst = int(np.argmax(error))
    where = [to_numbers(t, c)[worst] for c in columns]
    assert error[worst] <= accuracy.units, f"{error[worst]} ulp at {where}: {got[worst]}"


def exact_value(name: str, reference: str | None, point: Sequence[float]) -> Any:
    """The value in high precision; NaN outside the real domain, None where mpmath has no answer."""
    function = MPMATH.get(name) or resolve(reference or f"mpmath.{name}")
    values = [mpmath.mpf(x) for x in point]
    if name in ("asin", "acos"):
        values = [max(mpmath.mpf(-1), min(mpmath.mpf(1), values[0]))]
    try:
        result = function(*values)
    except (ZeroDivisionError, ValueError, mpmath.libmp.ComplexResult):
        return None
    return mpmath.nan if isinstance(result, mpmath.mpc) else result


@pytest.mark.parametrize("instance", [i for i in ROUNDED if component(i.types[0]) is f64], ids=str)
def test_ulps_of_float64(instance: Instance) -> None:
    columns, got = prepare(instance, 900)
    name, reference = instance.builtin.name, instance.overload.reference
    points = np.array(columns).T
    usable = np.isfinite(points).all(axis=1) & np.isfinite(got)
    if name in ("exp", "exp2", "sinh", "cosh", "pow", "erfc"):
        usable &= got != 0
    errors = np.zeros(len(got))
    largest = max(12, int(np.ceil(np.log2(np.max(np.abs(points[usable]))))))
    with mpmath.workprec(largest + 200):
        for k in np.flatnonzero(usable):
            wanted = exact_value(name, reference, points[k].tolist())
            if wanted is not None and wanted != 0:
                exponent = max(int(mpmath.floor(mpmath.log(abs(wanted), 2))), -1022)
                unit = mpmath.ldexp(1, exponent - 52)
                errors[k] = float(abs(mpmath.mpf(float(got[k])) - wanted) / unit)
    report_ulps(instance, f64, columns, got, errors)


SCALED = [i for i in ALL if isinstance(i.overload.accuracy, Scaled) and i.builtin.name in COMPOSITE]


@pytest.mark.parametrize("instance", SCALED, ids=str)
def test_scaled(instance: Instance) -> None:
    columns, got = prepare(instance, 200)
    t = component(instance.result)  # type: ignore[arg-type]
    exact = [np.asarray(c) for c in numbers(instance.types, columns)]
    accuracy = instance.overload.accuracy
    assert isinstance(accuracy, Scaled)
    if not t.is_float:  # wraps, exactly
        with np.errstate(all="ignore"):
            wanted = COMPOSITE[instance.builtin.name](instance.types, *exact)
        assert np.array_equal(got, wanted.astype(t.carrier))
        return
    wanted = COMPOSITE[instance.builtin.name](
        instance.types, *[np.asarray(c, np.float64) for c in exact]
    )
    unit = 2.0 ** -(MANTISSA[t] + 1) * np.maximum(1, np.abs(wanted).max())
    error = np.abs(np.asarray(to_numbers(t, got), np.float64) - wanted).max() / unit
    assert error <= accuracy.units, f"{error} roundings"


def test_every_builtin_is_compared_with_something() -> None:
    elsewhere = {"identity", "quat_identity", "transform_identity", "quat_to_axis_angle"}
    elsewhere |= {"quat_from_matrix"}  # test_composites.py; random numbers: test_random.py
    elsewhere |= {"quat_to_euler", "quat_to_rpy", "quat_twist", "quat_twist_angle"}
    elsewhere |= {"quat_twist_angle_signed", "quat_between_vectors"}  # test_rotations.py
    elsewhere |= {"transform_set_translation", "transform_set_rotation"}
    elsewhere |= {"transform_from_matrix", "transform_decompose"}  # test_transforms.py
    elsewhere |= {"qr3", "svd2", "svd3", "eig3"}  # test_decompositions.py
    elsewhere |= {"closest_point_edge_edge", "triangle_closest_point", "intersect_tri_tri"}
    elsewhere |= {"triangle_closest_point_barycentric"}  # test_triangles.py
    compared = EXACTLY + ROUNDED + SCALED
    names = {i.builtin.name for i in compared} | elsewhere
    left = {i.builtin.name for i in ALL if i.builtin.group != "Random"} - names
    assert not left
