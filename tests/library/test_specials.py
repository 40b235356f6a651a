"""Zeros, infinities, NaN, subnormals, and the arguments at which functions are hardest."""

import math
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate
from library.references import FLOAT64
from library.samples import TINY, to_carrier, to_numbers
from library.test_accuracy import component, error_in_ulps, same_bits

from heald.library.registry import Ulp, load_topics
from heald.types import Scalar, Vector, bf16, f16, f32, f64

NDArray = npt.NDArray[Any]
INF, NAN = math.inf, math.nan
PI, HALF_PI = math.pi, math.pi / 2
FLOATS = pytest.mark.parametrize("t", [f16, bf16, f32, f64], ids=str)

# function: [(argument, result)]; signs of zeros count
UNARY = {
    "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0.0), (NAN, NAN)],
    "exp2": [(0.0, 1), (3.0, 8), (-2.0, 0.25), (INF, INF), (-INF, 0.0), (NAN, NAN)],
    "log": [
        (1.0, 0.0),
        (0.0, -INF),
        (-0.0, -INF),
        (-1.0, NAN),
        (INF, INF),
        (-INF, NAN),
        (NAN, NAN),
    ],
    "log2": [(1.0, 0.0), (8.0, 3), (0.125, -3), (0.0, -INF), (-2.0, NAN), (INF, INF), (NAN, NAN)],
    "log10": [(1.0, 0.0), (10.0, 1), (1000.0, 3), (0.0, -INF), (-2.0, NAN), (INF, INF), (NAN, NAN)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "cos": [(0.0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "asin": [
        (0.0, 0.0),
        (-0.0, -0.0),
        (1.0, HALF_PI),
        (2.0, HALF_PI),
        (-INF, -HALF_PI),
    ],
    "acos": [
        (1.0, 0.0),
        (2.0, 0.0),
        (0.0, HALF_PI),
        (-1.0, PI),
        (-INF, PI),
        (NAN, NAN),
    ],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, HALF_PI), (-INF, -HALF_PI), (NAN, NAN)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "cosh": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (NAN, NAN)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (100.0, 1), (NAN, NAN)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (30.0, 1), (NAN, NAN)],
    "erfc": [(0.0, 1), (-0.0, 1), (INF, 0.0), (-INF, 2), (100.0, 0.0), (-30.0, 2), (NAN, NAN)],
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (NAN, NAN)],
    "erfcinv": [(1.0, 0.0), (0.0, INF), (-0.0, INF), (2.0, -INF), (-0.5, NAN), (3.0, NAN)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (-27.0, -3), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (4.0, 0.5), (NAN, NAN)],
    "round": [(0.5, 1), (-0.5, -1), (1.5, 2), (2.5, 3), (-0.25, -0.0), (INF, INF), (NAN, NAN)],
    "frac": [(1.75, 0.75), (-1.75, -0.75), (3.0, 0.0), (INF, NAN), (NAN, NAN)],
}


@FLOATS
@pytest.mark.parametrize("name", UNARY)
def test_special_arguments(name: str, t: Scalar) -> None:
    arguments, wanted = (to_carrier(t, column) for column in zip(*UNARY[name], strict=True))
    (got,) = evaluate(f"wp.{name}(x0)", Typed(t, arguments), results=[t])
    assert same_bits(t, got, wanted).all(), to_numbers(t, got)


@pytest.mark.parametrize("name", [name for name, rows in UNARY.items() if rows[-1][0] is NAN])
def test_every_nan_stays(name: str) -> None:
    nans = np.array([0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF, 0x7FC001FF], np.uint32)
    (got,) = evaluate(f"wp.{name}(x0)", Typed(f32, nans.view(np.float32)), results=[f32])
    assert np.isnan(got).all()


@pytest.mark.parametrize(("name", "sign"), [("sin", -1), ("cos", 1)])
def test_sine_is_odd_and_cosine_even(name: str, sign: int) -> None:
    bits = np.random.default_rng(5).integers(0, 0x7F800000, 2000, dtype=np.uint32)
    x = bits.view(np.float32)
    (got,) = evaluate(f"wp.{name}(x0)", Typed(f32, np.concatenate([x, -x])), results=[f32])
    assert same_bits(f32, got[2000:], (sign * got[:2000]).astype(np.float32)).all()


@FLOATS
@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan", "sinh", "tanh"])
def test_subnormal_arguments_come_back(name: str, t: Scalar) -> None:
    tiny = to_carrier(t, [TINY[t], -TINY[t], 5 * TINY[t]])
    (got,) = evaluate(f"wp.{name}(x0)", Typed(t, tiny), results=[t])
    assert same_bits(t, got, tiny).all()


VALUES = [0.0, 0.5, 1.0, 2.0, 3.0, 1e4, 1e-4, INF]
VALUES += [-x for x in VALUES]
VALUES.append(NAN)


@FLOATS
@pytest.mark.parametrize("name", ["pow", "atan2", "mod", "floormod", "floordiv"])
def test_pairs_of_special_arguments(name: str, t: Scalar) -> None:
    a, b = (to_carrier(t, grid.ravel()) for grid in np.meshgrid(VALUES, VALUES))
    (got,) = evaluate(f"wp.{name}(x0, x1)", Typed(t, a), Typed(t, b), results=[t])
    reference = {"mod": np.fmod, "floormod": np.mod, "floordiv": _floordiv} | FLOAT64
    with np.errstate(all="ignore"):
        exact = [to_numbers(t, x).astype(np.float64) for x in (a, b)]
        wanted = to_carrier(t, reference[name](*exact))
    numbers, expected = to_numbers(t, got), to_numbers(t, wanted)
    same = same_bits(t, got, wanted)
    if name in ("pow", "atan2"):  # finite results: right in sign and to a few digits
        with np.errstate(all="ignore"):
            near = np.abs(numbers - expected) <= np.abs(expected) * 2.0**-7
        same |= near & (expected != 0) & (np.signbit(numbers) == np.signbit(expected))
    bad = np.flatnonzero(~same)
    assert not bad.size, [(exact[0][k], exact[1][k], numbers[k], expected[k]) for k in bad[:5]]


def _floordiv(a: NDArray, b: NDArray) -> NDArray:
    return np.where(b == 0, a / b, np.floor_divide(a, b))


@pytest.mark.parametrize("name", ["mod", "floormod", "floordiv"])
def test_division_by_much_smaller_numbers(name: str) -> None:
    """Python divides floats exactly, however large the quotient."""
    rng = np.random.default_rng(0)
    a = np.ldexp(rng.uniform(-1, 1, 300), rng.integers(-1000, 1000, 300))
    b = np.ldexp(rng.uniform(-1, 1, 300), rng.integers(-1070, 100, 300))
    (got,) = evaluate(f"wp.{name}(x0, x1)", Typed(f64, a), Typed(f64, b), results=[f64])
    python = {"mod": math.fmod, "floormod": lambda x, y: x % y, "floordiv": lambda x, y: x // y}
    with np.errstate(over="ignore"):
        finite = np.flatnonzero(np.isfinite(a / b))
    assert len(finite) > 150
    for k in finite:
        assert got[k] == python[name](float(a[k]), float(b[k]))


# -- arguments near multiples of π/2 -------------------------------------------------------------


def hardest(bits: int, exponents: range) -> NDArray:
    """For each exponent the float that is nearest to a multiple of π/2, in relative terms.

    m · 2^e is near k · π/2 where k / m is a convergent of the continued fraction of 2^e · 2/π.
    """
    out = []
    for e in exponents:
        with mpmath.workprec(abs(e) + 300):
            rest = mpmath.ldexp(2 / mpmath.pi, e)
            before, last = 1, 0
            while last < 2**bits:
                whole = int(mpmath.floor(rest))
                found, before, last = last, last, whole * last + before
                rest = 1 / (rest - whole)
        out.append(math.ldexp(found, e))
    return np.array(out)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_arguments_near_multiples_of_half_pi(t: Scalar, name: str) -> None:
    bits, top = (24, 128) if t is f32 else (53, 1024)
    near = hardest(bits, range(-bits + 1, top - bits, 1 if t is f32 else 7))
    x = to_carrier(t, np.concatenate([near, -near]))
    (got,) = evaluate(f"wp.{name}(x0)", Typed(t, x), results=[t])
    accuracy = next(
        o.accuracy for o in load_topics()[name].records if o.function.__annotations__["x"] is t
    )
    assert isinstance(accuracy, Ulp)
    with mpmath.workprec(1400):
        wanted = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
        mantissa = 23 if t is f32 else 52
        for v, g, w in zip(x, got, wanted, strict=True):
            unit = mpmath.ldexp(1, int(mpmath.floor(mpmath.log(abs(w), 2))) - mantissa)
            assert abs(mpmath.mpf(float(g)) - w) <= accuracy.units * unit, v


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_arguments_between_quadrants(name: str) -> None:
    """Next to odd multiples of π/4, where a quotient that is off takes the other quadrant."""
    middle = ((np.arange(70_000) + 0.5) * HALF_PI).astype(np.float32)
    x = (middle.view(np.int32) + np.arange(-2, 3)[:, None]).astype(np.int32).view(np.float32)
    x = x[:, ::3].ravel()
    (got,) = evaluate(f"wp.{name}(x0)", Typed(f32, x), results=[f32])
    record = next(o for o in load_topics()[name].records if o.function.__annotations__["x"] is f32)
    assert isinstance(record.accuracy, Ulp)
    error = error_in_ulps(f32, got, FLOAT64[name](x.astype(np.float64)))
    assert error.max() <= record.accuracy.units, x[np.argmax(error)]


# -- outside the domain --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [
        (1.0, 0.0, -1.0, 1.0),
        (1.0, 0.0, 0.25, 0.84375),
        (1.0, 0.0, 2.0, 0.0),
        (1.0, 1.0, 0.5, 0.0),
        (1.0, 1.0, 2.0, 1.0),
        (1.0, 1.0, 1.0, NAN),
        (INF, 1.0, 0.0, NAN),
        (-INF, 1.0, 0.0, NAN),
        (0.0, INF, 5.0, 0.0),
        (0.0, 1.0, INF, 1.0),
        (0.0, 1.0, NAN, NAN),
    ],
)
def test_smoothstep_of_any_edges(a: float, b: float, x: float, expected: float) -> None:
    values = [Typed(f32, np.array([v], np.float32)) for v in (a, b, x)]
    (got,) = evaluate("wp.smoothstep(x0, x1, x2)", *values, results=[f32])
    assert same_bits(f32, got, np.array([expected], np.float32)).all()


def test_losses_of_a_negative_delta() -> None:
    v = Typed(Vector(f32, 2), np.array([[3.0, 4.0]], np.float32))
    expected = {"norm_huber(x0, -2.0)": -12.0, "norm_huber(x0, -10.0)": 12.5}
    expected["norm_pseudo_huber(x0, -12.0)"] = -13.0
    for call, result in expected.items():
        assert evaluate(f"wp.{call}", v, results=[f32])[0] == [result]
    (turned,) = evaluate("wp.smooth_normalize(x0, -12.0)", v, results=[v.type])
    (straight,) = evaluate("wp.smooth_normalize(x0, 12.0)", v, results=[v.type])
    assert np.array_equal(turned, -straight)


# -- every 16-bit number -------------------------------------------------------------------------

HALF = [
    (name, record.accuracy.units)
    for name, b in load_topics().items()
    for record in b.records
    if isinstance(record.accuracy, Ulp)
    and list(record.function.__annotations__) == ["x", "return"]
    and f16 in getattr(record.function.__annotations__["x"], "members", ())
]


@pytest.mark.parametrize("t", [f16, bf16], ids=str)
@pytest.mark.parametrize(("name", "units"), HALF, ids=lambda v: v if isinstance(v, str) else "")
def test_every_half(name: str, units: float, t: Scalar) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(t.carrier)
    (got,) = evaluate(f"wp.{name}(x0)", Typed(t, x), results=[t])
    with np.errstate(all="ignore"):
        wanted = FLOAT64[name](to_numbers(t, x).astype(np.float64))
    error = error_in_ulps(t, got, wanted)
    worst = int(np.argmax(error))
    assert error[worst] <= units, f"{error[worst]} ulp at {to_numbers(t, x)[worst]}"


def test_half_functions_are_found() -> None:
    assert {"sin", "exp", "log", "tanh", "atan"} <= {name for name, _ in HALF}
    assert component(f16) is f16
