"""Arguments that are not exactly what a signature says: literals, mixed types, Python's names."""

import math
from typing import Any

import numpy as np
import pytest
from library.harness import Typed, evaluate

import heald as wp
from heald.diagnostics import TypingError
from heald.types import Scalar, Type, Vector, b1, f16, f32, f64, i32, i64, u8

X = Typed(f32, np.array([-1.5, 0.25, 3.0], np.float32))
I = Typed(i32, np.array([-2, 0, 5], np.int32))  # noqa: E741
H = Typed(f16, np.array([-1.5, 0.25, 3.0], np.float16))


def value(expression: str, result: Type, *inputs: Typed) -> Any:
    return evaluate(expression, *inputs, results=[result])[0].tolist()


@pytest.mark.parametrize(
    ("expression", "inputs", "result", "expected"),
    [
        ("wp.clamp(x0, 0, 1)", [X], f32, [0.0, 0.25, 1.0]),
        ("wp.clamp(x0, -1, 1)", [I], i32, [-1, 0, 1]),
        ("wp.max(x0, 0)", [X], f32, [0.0, 0.25, 3.0]),
        ("wp.min(2, x0)", [X], f32, [-1.5, 0.25, 2.0]),
        ("wp.max(x0, x1)", [X, I], f32, [-1.5, 0.25, 5.0]),
        ("min(x0, 1.0)", [X], f32, [-1.5, 0.25, 1.0]),
        ("abs(x0)", [I], i32, [2, 0, 5]),
        ("wp.pow(x0, 2)", [X], f32, [2.25, 0.0625, 9.0]),
        ("x0 ** 3.0", [X], f32, [-3.375, 0.015625, 27.0]),
        ("wp.sqrt(4)", [X], f32, [2.0, 2.0, 2.0]),
        ("wp.exp(x0 * 0)", [I], f32, [1.0, 1.0, 1.0]),
        ("wp.where(x0 > 0, 1.0, x0)", [X], f32, [-1.5, 1.0, 1.0]),
        ("wp.where(x0, x0, 7)", [I], i32, [-2, 7, 5]),
        ("x0 // 2", [I], i32, [-1, 0, 2]),
        ("x0 % 3", [I], i32, [1, 0, 2]),
        ("-x0 % 3", [I], i32, [2, 0, 1]),
        ("x0 % 1.0", [X], f32, [0.5, 0.25, 0.0]),
        ("x0 // 0.5", [X], f32, [-3.0, 0.0, 6.0]),
        ("wp.abs(x0) + 1.0", [H], f16, [2.5, 1.25, 4.0]),
        ("wp.lerp(0.0, 8.0, x0)", [X], f32, [-12.0, 2.0, 24.0]),
        ("wp.sign(x0)", [I], i32, [-1, 1, 1]),
        ("y = int32(0x40000000)\nwp.cast(y, float32)", [I], f32, [2.0, 2.0, 2.0]),
        ("wp.cast(2.0, int32)", [I], i32, [0x40000000] * 3),
    ],
)
def test_literals_and_mixed_types(
    expression: str, inputs: list[Typed], result: Scalar, expected: list[float]
) -> None:
    assert value(expression, result, *inputs) == expected


@pytest.mark.parametrize("t", [f16, f32, f64], ids=str)
def test_a_half_stays_a_half(t: Scalar) -> None:
    """The nearest overload is chosen: a result in a wider type could not be stored."""
    x = Typed(t, np.array([0.5], t.carrier))
    for name in ("sin", "exp", "sqrt", "tanh", "atan", "rsqrt", "degrees"):
        (got,) = evaluate(f"wp.{name}(x0)", x, results=[t])
        numpy_name = {"rsqrt": lambda v: 1 / math.sqrt(v), "degrees": math.degrees}
        wanted = numpy_name.get(name, getattr(math, name, None))
        assert wanted is not None
        assert got[0] == pytest.approx(wanted(0.5), rel=2e-3)


def test_names_of_python_are_the_builtins() -> None:
    x = Typed(f32, np.array([0.5, 1.5], np.float32))
    assert value("max(x0, 1.0, 1.25)", f32, x) == [1.25, 1.5]
    assert value("pow(x0, 2.0)", f32, x) == [0.25, 2.25]


@pytest.mark.parametrize(
    "expression",
    [
        "wp.sin()",
        "wp.sin(x0, x0)",
        "wp.dot(x0, x0)",
        "wp.floormod(x0, wp.quat_identity())",
        "wp.rand_init(x0)",
    ],
)
def test_what_fits_no_signature_is_refused(expression: str) -> None:
    with pytest.raises(TypingError, match=r"H0203|H0305") as refused:
        evaluate(expression, X, results=[f32])
    assert "it accepts" in str(refused.value)


def test_division_by_zero_is_a_fault_and_gives_zero() -> None:
    zero = Typed(i32, np.zeros(3, np.int32))
    for operator in ("//", "%"):
        with pytest.raises(AssertionError, match="DIVISION"):
            evaluate(f"x0 {operator} x1", I, zero, results=[i32])


def test_integers_wrap_where_python_would_grow() -> None:
    for t in (i32, i64):
        low = Typed(t, np.array([t.lowest], t.carrier))
        assert value("x0 // -1", t, low) == [t.lowest]
        assert value("x0 % -1", t, low) == [0]
        assert value("wp.abs(x0)", t, low) == [t.lowest]
    assert value("x0 // x0", u8, Typed(u8, np.array([200], np.uint8))) == [1]


def test_predicates_of_composites() -> None:
    v3 = Vector(f32, 3)
    rows = [[0, 1, 2], [math.nan, 0, 0], [0, -math.inf, 1]]
    v = Typed(v3, np.array(rows, np.float32))
    assert value("wp.isnan(x0)", b1, v) == [False, True, False]
    assert value("wp.isinf(x0)", b1, v) == [False, False, True]
    assert value("wp.isfinite(x0)", b1, v) == [True, False, False]


@pytest.mark.parametrize(
    ("name", "near"),
    [("normalise", "'normalize'"), ("sine", "'sin'"), ("quat_rot", "'quat_rotate'")],
)
def test_names_that_do_not_exist_have_a_hint(name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean .*{near}"):
        getattr(wp, name)
    with pytest.raises(AttributeError, match=r"has no attribute '__sine__'$"):
        getattr(wp, "__sine__")  # noqa: B009 - Python asks for such names


@pytest.mark.parametrize(
    ("call", "signature"),
    [
        (lambda: wp.sin(wp.vec3(1.0, 2.0, 3.0)), "it accepts sin(x: float32)"),
        (lambda: wp.dot(wp.vec3(), wp.vec2()), "it accepts dot(a: vector(length=N"),
        (lambda: wp.lerp(1.0, 2.0), "it accepts lerp(a: Float, b: Float, t: Float)"),
        (lambda: wp.cross(wp.vec3(), 1.0), "it accepts cross("),
        (lambda: wp.bit_count(1.0), "it accepts bit_count("),
        (lambda: wp.sin("x"), "it accepts sin(x: float32)"),
        (lambda: wp.sin(None), "it accepts sin(x: float64)"),
        (lambda: wp.sin(np.zeros(3)), "it accepts sin(x: float32)"),
        (lambda: wp.sin(y=1.0), "it accepts sin(x: float32)"),
        (lambda: wp.lerp(1.0, b=2.0), "it accepts lerp(a: Float, b: Float, t: Float)"),
        (wp.quat_to_rpy, "it is quat_to_rpy(q: quaternion(dtype=Float))"),
        (lambda: wp.spatial_dot(1.0, 2.0, 3.0), "it is spatial_dot(a: vector(length=6"),
        (lambda: wp.quat_to_rpy(quat=wp.quat()), "it accepts quat_to_rpy(q: "),
    ],
)
def test_wrong_types_lengths_and_counts_list_what_is_accepted(call: Any, signature: str) -> None:
    with pytest.raises(wp.TypingError) as caught:
        call()
    assert signature in str(caught.value)


@pytest.mark.parametrize(("number", "bits"), [(2**64, 65), (-(2**63) - 1, 64), (10**400, 1329)])
def test_integers_of_more_than_64_bits_are_refused(number: int, bits: int) -> None:
    with pytest.raises(wp.TypingError, match=f"H0202.*an integer of {bits} bits"):
        wp.abs(number)


def test_integers_take_the_smallest_type_that_holds_them() -> None:
    assert wp.bit_count(2**64 - 1) == 64
    assert wp.abs(-(2**31)) == -(2**31)
    assert wp.abs(-(2**31) - 1) == 2**31 + 1
    assert wp.max(2**63, 2**63 + 1) == 2**63 + 1


def test_names_of_arguments_find_the_overload_that_has_them() -> None:
    state = wp.uint32(7)
    assert wp.randi(state, low=5, high=10) == wp.randi(state, 5, 10)
    assert wp.lerp(t=0.5, a=1.0, b=2.0) == 1.5


def test_integers_adapt_on_the_host_as_literals_do_in_kernels() -> None:
    state = wp.rand_init(42)
    assert wp.randf(state) == wp.randf(state)
    assert wp.randf(state) == wp.randf(wp.uint32(state))
    assert wp.randu(wp.uint32(7), 5, 10) == wp.randu(wp.uint32(7), wp.uint32(5), wp.uint32(10))
    assert wp.min(wp.uint8(7), 3) == 3
    assert 2.0 <= wp.randf(state, 2.0, 3.0) < 3.0
    with pytest.raises(wp.TypingError, match="does not take"):
        wp.min(wp.uint8(7), 300)
    with pytest.raises(wp.TypingError, match="does not take"):
        wp.min(wp.uint8(7), wp.int32(3))


@wp.func
def of_any(a: Any, b: Any):
    return a + b


@wp.func
def of_class(a: wp.Float, b: wp.Float):
    return a + b


@wp.func
def of_float64(a: wp.float64, b: wp.float64):
    return a + b


@wp.kernel
def takes_literals(y: wp.array(dtype=wp.float64)):
    x = wp.float64(1.0)
    y[0] = wp.lerp(x, 2.0, 0.1)
    y[1] = wp.atan2(x, 0.1)
    y[2] = (wp.vec3d(x, x, x) * 0.1)[0]
    y[3] = wp.norm_huber(wp.vec3d(x, x, x), 0.1)
    y[4] = wp.float64(of_any(x, 0.1))
    y[5] = of_class(x, 0.1)
    y[6] = of_float64(x, 0.1)
    y[7] = of_float64(1.0, 0.1)
    y[8] = wp.float64((wp.vec3h(wp.float16(1.0)) * 2.0)[0])
    y[9] = wp.float64(wp.max(wp.float16(0.0), 0.1))


def test_floats_adapt_on_the_host_as_literals_do_in_kernels() -> None:
    y = wp.zeros(10, dtype=wp.float64, device="sim")
    wp.launch(takes_literals, dim=1, inputs=[y], device="sim")
    x, h = wp.float64(1.0), wp.float16(1.0)
    host = [
        wp.lerp(x, 2.0, 0.1),
        wp.atan2(x, 0.1),
        (wp.vec3d(x, x, x) * 0.1)[0],
        wp.norm_huber(wp.vec3d(x, x, x), 0.1),
        of_any(x, 0.1),
        of_class(x, 0.1),
        of_float64(x, 0.1),
        of_float64(1.0, 0.1),
        (wp.vec3h(h, h, h) * 2.0)[0],
        wp.max(wp.float16(0.0), 0.1),
    ]
    assert host == y.list()
    assert host[4] != host[5] == 1.1
    assert wp.vec3h(h, h, h) * 2 == wp.vec3h(2.0, 2.0, 2.0)
    with pytest.raises(wp.TypingError, match="changes their type"):
        wp.vec3i(1, 2, 3) * 0.5


def test_builtins_of_what_is_known_at_compile_time_are_called_by_python_too() -> None:
    assert wp.identity(2) == wp.mat22(1.0, 0.0, 0.0, 1.0)
    assert (wp.identity(n=1, dtype=wp.float64).dtype, wp.identity(1)[0, 0]) == (wp.float64, 1.0)
    assert wp.quat_identity(dtype=wp.float64).dtype is wp.float64
    assert wp.transform_identity(wp.float64).q == wp.quat_identity(wp.float64)
    assert wp.cast(1.5, wp.int32) == 0x3FC00000
    assert wp.cast(a=wp.vec2(1.0, -0.0), dtype=wp.vec2i) == wp.vec2i(0x3F800000, -(2**31))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: wp.identity(0), "not 0 x 0"),
        (lambda: wp.identity(True), "not True x True"),
        (lambda: wp.identity(100), "not 100 x 100"),
        (lambda: wp.identity(2.5), "rows and columns are integers known at compile time"),
        (lambda: wp.identity([3]), "unhashable"),
        (wp.identity, "no parameters for"),
        (lambda: wp.quat_identity(wp.int32), "a quaternion is of a float type, not int32"),
        (lambda: wp.cast(1.0, wp.int64), "float32 has 32 bits and int64 64"),
        (lambda: wp.cast(wp.vec3(), wp.vec2i), "vec3 has another shape than vec2i"),
        (lambda: wp.cast(1.0), "no parameters for"),
    ],
)
def test_what_they_do_not_take_is_refused_with_what_they_do(call: Any, why: str) -> None:
    with pytest.raises(TypingError, match=why) as refused:
        call()
    assert "it accepts" in str(refused.value)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("wp.identity(x0)", "rows and columns are integers known at compile time"),
        ("wp.identity(0)", "not 0 x 0"),
        ("wp.identity(2, wp.sin)", "components are of a scalar type"),
        ("wp.quat_identity(int32)", "a quaternion is of a float type, not int32"),
        ("wp.transform_identity(dtype=int32)", "a transformation is of a float type, not int32"),
        ("wp.cast(x0, float64)", "float32 has 32 bits and float64 64"),
        ("wp.cast(x0, x0)", "the bits are read as a type known at compile time"),
    ],
)
def test_kernels_are_refused_at_their_own_call(expression: str, why: str) -> None:
    with pytest.raises(TypingError) as refused:
        evaluate(expression, X, results=[f32])
    (found,) = refused.value.diagnostics
    assert found.code == "H0203"
    assert found.span is not None
    assert found.span.file.startswith("<builtin test")
    assert why in str(refused.value)
    assert f"it accepts {expression.partition('(')[0][3:]}(" in str(refused.value)
