"""What a comparison with numpy does not cover: constants, edge cases, and identities."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.harness import Typed, evaluate

import heald as wp
from heald.diagnostics import TypingError
from heald.types import (
    Matrix,
    Quaternion,
    Scalar,
    Transform,
    Type,
    Vector,
    f16,
    f32,
    f64,
    i8,
    i32,
    u64,
)

NDArray = npt.NDArray[Any]
ROUNDING = {f16: 2.0**-10, f32: 2.0**-23, f64: 2.0**-52}
FLOATS = pytest.mark.parametrize("t", [f16, f32, f64], ids=str)


def one(expression: str, result: Type, *inputs: Typed) -> NDArray:
    nothing = Typed(i32, np.zeros(1, np.int32))
    (values,) = evaluate(expression, *(inputs or (nothing,)), results=[result])
    return values if inputs else values[0]


def rotations(t: Scalar, count: int = 300) -> Typed:
    q = np.random.default_rng(1).normal(size=(count, 4))
    q[:3] = [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, -1]]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return Typed(Quaternion(t), q.astype(t.carrier))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_identity_matrix(dtype: str) -> None:
    t = {"float16": f16, "float32": f32, "float64": f64, "int32": i32}[dtype]
    assert np.array_equal(one(f"wp.identity(n=3, dtype={dtype})", Matrix(t, 3, 3)), np.eye(3))
    assert np.array_equal(one(f"wp.identity(2, {dtype})", Matrix(t, 2, 2)), np.eye(2))


def test_identity_rotation_and_transform() -> None:
    assert one("wp.quat_identity()", Quaternion(f32)).tolist() == [0, 0, 0, 1]
    assert one("wp.quat_identity(dtype=float64)", Quaternion(f64)).tolist() == [0, 0, 0, 1]
    assert one("wp.transform_identity()", Transform(f32)).tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert one("wp.transform_identity(float64)", Transform(f64)).tolist() == [0] * 6 + [1]


def test_zero_has_no_direction() -> None:
    zero = np.zeros((1, 3), np.float32)
    assert one("wp.normalize(x0)", Vector(f32, 3), Typed(Vector(f32, 3), zero)).tolist() == [
        [0, 0, 0]
    ]
    none = Typed(Quaternion(f32), np.zeros((1, 4), np.float32))
    assert one("wp.normalize(x0)", Quaternion(f32), none).tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_singular_matrices_have_the_inverse_zero(n: int) -> None:
    t = Matrix(f32, n, n)
    singular = np.arange(n * n, dtype=np.float32).reshape(1, n, n) % n
    assert not one("wp.inverse(x0)", t, Typed(t, singular)).any()


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(("dtype", "most"), [(f32, 110), (f64, 900)], ids=str)
def test_inverses_do_not_depend_on_the_scale(n: int, dtype: Scalar, most: int) -> None:
    """Bit for bit, though determinants of such matrices would overflow or vanish."""
    t = Matrix(dtype, n, n)
    rng = np.random.default_rng(n)
    a = (rng.uniform(-1, 1, (50, n, n)) * 0.2 + np.eye(n)).astype(dtype.carrier)
    usual = one("wp.inverse(x0)", t, Typed(t, a))
    for k in (-most, -most // 2, most // 2, most):
        power = dtype.carrier.type(2.0) ** k
        assert np.array_equal(one("wp.inverse(x0)", t, Typed(t, a * power)) * power, usual), k
    corners = np.array([np.diag([x] + [0] * (n - 1)) for x in (0.0, np.inf, np.nan)], dtype.carrier)
    corners[0, 0, 0] = np.finfo(dtype.carrier).smallest_subnormal
    found = one("wp.inverse(x0)", t, Typed(t, corners))
    assert not found[0].any()
    assert np.isnan(found[1:]).any(axis=(1, 2)).all()


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(("dtype", "most"), [(f32, 60), (f64, 500)], ids=str)
def test_inverses_do_not_depend_on_the_scale_of_rows_and_columns(
    n: int, dtype: Scalar, most: int
) -> None:
    """Bit for bit, though elements of one matrix are far apart."""
    t = Matrix(dtype, n, n)
    rng = np.random.default_rng(n)
    a = (rng.uniform(-1, 1, (50, n, n)) * 0.2 + np.eye(n)).astype(dtype.carrier)
    usual = one("wp.inverse(x0)", t, Typed(t, a))
    powers = rng.integers(-most, most + 1, (50, n, 1)) + rng.integers(-most, most + 1, (50, 1, n))
    found = one("wp.inverse(x0)", t, Typed(t, np.ldexp(a, powers)))
    assert np.array_equal(found, np.ldexp(usual, -powers.swapaxes(1, 2)))


def test_inverses_of_matrices_with_elements_far_apart() -> None:
    diagonal = np.array([1e13, 1e-13, 1.0], np.float32)
    found = one(
        "wp.inverse(x0)", Matrix(f32, 3, 3), Typed(Matrix(f32, 3, 3), np.diag(diagonal)[np.newaxis])
    )[0]
    np.testing.assert_allclose(found, np.diag(1 / diagonal.astype(float)), rtol=1e-6)
    a = np.array([[[1e20, 1e-20], [2e20, 1e-20]]], np.float32)
    found = one("wp.inverse(x0)", Matrix(f32, 2, 2), Typed(Matrix(f32, 2, 2), a))[0]
    np.testing.assert_allclose(found, [[-1e-20, 1e-20], [2e20, -1e20]], rtol=1e-6)


def test_norms_of_halves_do_not_overflow_on_the_way() -> None:
    v = Typed(Vector(f16, 3), np.array([[300, 0, 0], [0, -1e-4, 0]], np.float16))
    small = float(v.data[1, 1])
    assert one("wp.norm_huber(x0)", f16, v)[0] == 299.5
    assert one("wp.norm_pseudo_huber(x0, float16(0.0))", f16, v).tolist() == [300.0, -small]
    assert one("wp.smooth_normalize(x0, float16(0.0))", v.type, v).tolist() == [
        [1, 0, 0],
        [0, -1, 0],
    ]


@FLOATS
def test_cross_product_of_equal_vectors_is_zero(t: Scalar) -> None:
    v = np.random.default_rng(2).normal(size=(100, 3)).astype(t.carrier)
    v3 = Vector(t, 3)
    assert not one("wp.cross(x0, x0)", v3, Typed(v3, v)).any()


def test_dot_product_is_symmetric() -> None:
    rng = np.random.default_rng(3)
    v3 = Vector(f32, 3)
    a, b = (Typed(v3, rng.normal(size=(500, 3)).astype(np.float32)) for _ in range(2))
    assert np.array_equal(one("wp.dot(x0, x1)", f32, a, b), one("wp.dot(x1, x0)", f32, a, b))


def test_products_by_operators() -> None:
    rng = np.random.default_rng(4)
    a = Typed(Matrix(f64, 2, 3), rng.normal(size=(9, 2, 3)))
    b = Typed(Matrix(f64, 3, 2), rng.normal(size=(9, 3, 2)))
    v = Typed(Vector(f64, 3), rng.normal(size=(9, 3)))
    np.testing.assert_allclose(one("x0 * x1", Matrix(f64, 2, 2), a, b), a.data @ b.data)
    np.testing.assert_allclose(one("x0 @ x1", Matrix(f64, 3, 3), b, a), b.data @ a.data)
    wanted = np.einsum("nij,nj->ni", a.data, v.data)
    np.testing.assert_allclose(one("x0 * x1", Vector(f64, 2), a, v), wanted)
    wanted = np.einsum("nj,nij->ni", v.data, a.data)
    np.testing.assert_allclose(one("x0 * wp.transpose(x1)", Vector(f64, 2), v, a), wanted)


@pytest.mark.parametrize("t", [Vector(i8, 5), Matrix(i32, 2, 3), Vector(u64, 3)], ids=str)
def test_bit_operations_of_composites(t: Vector | Matrix) -> None:
    rng = np.random.default_rng(7)
    dtype = t.dtype.carrier
    shape = (50, *t.shape)
    info = np.iinfo(dtype)
    a = Typed(t, rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))
    b = Typed(t, rng.integers(0, t.dtype.bits, shape).astype(dtype))
    wanted = [a.data & b.data, a.data | b.data, a.data ^ b.data, a.data << b.data, a.data >> b.data]
    for op, value in zip(("&", "|", "^", "<<", ">>"), wanted, strict=True):
        assert np.array_equal(one(f"x0 {op} x1", t, a, b), value), op
        assert np.array_equal(one(f"y = x0\ny {op}= x1\ny", t, a, b), value), op
    assert np.array_equal(one("~x0", t, a), ~a.data)
    wide = Typed(t, np.full(shape, t.dtype.bits + 1, dtype))  # the count is modulo the width
    assert np.array_equal(one("x0 << x1", t, a, wide), a.data << dtype.type(1))


def test_bit_operations_of_host_vectors_are_those_of_kernels() -> None:
    a, b = wp.vec3i(-7, 6, 5), wp.vec3i(3, 1, 2)
    assert [a & b, a | b, a ^ b] == [(1, 0, 0), (-5, 7, 7), (-6, 7, 7)]
    assert [a << b, a >> b, ~a, a // b] == [(-56, 12, 20), (-1, 3, 1), (6, -7, -6), (-3, 6, 2)]
    for wrong in (lambda: a & 1, lambda: wp.vec3() | wp.vec3(), lambda: ~wp.quat()):
        with pytest.raises(TypingError, match="H0201"):
            wrong()


def test_numbers_are_divided_by_quaternions() -> None:
    q = wp.quat(1.0, 2.0, 4.0, -8.0)
    assert 2.0 / q == wp.div(2.0, q) == wp.quat(2.0, 1.0, 0.5, -0.25)


@FLOATS
def test_axis_and_angle_give_the_rotation_back(t: Scalar) -> None:
    q = rotations(t)
    axis, angle = evaluate("wp.quat_to_axis_angle(x0)", q, results=[Vector(t, 3), t])
    assert (angle >= 0).all()
    assert (angle <= np.pi * (1 + ROUNDING[t])).all()
    back = one(
        "wp.quat_from_axis_angle(x0, x1)", q.type, Typed(Vector(t, 3), axis), Typed(t, angle)
    )
    same = np.sign(np.sum(back.astype(float) * q.data, axis=1, keepdims=True))
    turned = angle > 0  # without a turn the axis is zero, and so is what is made of it
    error = np.abs(back * same - q.data)[turned].max()
    assert error < 12 * ROUNDING[t]


@FLOATS
@pytest.mark.parametrize("size", [3, 4])
def test_matrices_give_the_rotation_back(t: Scalar, size: int) -> None:
    q = rotations(t)
    matrix = np.zeros((len(q.data), size, size), t.carrier)
    matrix[:, :3, :3] = one("wp.quat_to_matrix(x0)", Matrix(t, 3, 3), q)
    matrix[:, 3:, :] = 7  # of a 4 by 4 matrix only the upper left block counts
    back = one("wp.quat_from_matrix(x0)", q.type, Typed(Matrix(t, size, size), matrix))
    same = np.sign(np.sum(back.astype(float) * q.data, axis=1, keepdims=True))
    assert np.abs(back * same - q.data).max() < 8 * ROUNDING[t]


@FLOATS
def test_rotating_back(t: Scalar) -> None:
    v = Typed(Vector(t, 3), np.random.default_rng(5).normal(size=(300, 3)).astype(t.carrier))
    back = one("wp.quat_rotate_inv(x0, wp.quat_rotate(x0, x1))", v.type, rotations(t), v)
    assert np.abs(back.astype(float) - v.data).max() < 40 * ROUNDING[t]


@FLOATS
def test_transforms_apply_the_right_one_first(t: Scalar) -> None:
    rng = np.random.default_rng(6)
    parts = [np.concatenate([rng.normal(size=(300, 3)), rotations(t).data], 1) for _ in range(2)]
    a, b = (Typed(Transform(t), part.astype(t.carrier)) for part in parts)
    p = Typed(Vector(t, 3), rng.normal(size=(300, 3)).astype(t.carrier))
    together = one("wp.transform_point(x0 * x1, x2)", p.type, a, b, p)
    apart = one("wp.transform_point(x0, wp.transform_point(x1, x2))", p.type, a, b, p)
    assert np.abs(together.astype(float) - apart).max() < 60 * ROUNDING[t]
    back = one(
        "wp.transform_point(wp.transform_inverse(x0), wp.transform_point(x0, x1))", p.type, a, p
    )
    assert np.abs(back.astype(float) - p.data).max() < 60 * ROUNDING[t]


@FLOATS
def test_slerp_ends_where_it_should(t: Scalar) -> None:
    a = rotations(t)
    b = Typed(a.type, np.roll(a.data, 1, axis=0))
    for end, wanted in ((0, a), (1, b)):
        at = Typed(t, np.full(len(a.data), end, t.carrier))
        got = one("wp.quat_slerp(x0, x1, x2)", a.type, a, b, at).astype(float)
        same = np.sign(np.sum(got * wanted.data, axis=1, keepdims=True))
        assert np.abs(got * same - wanted.data).max() < 16 * ROUNDING[t]
    again = one("wp.quat_slerp(x0, x0, x1)", a.type, a, Typed(t, np.full(300, 0.3, t.carrier)))
    assert np.abs(again.astype(float) - a.data).max() < 4 * ROUNDING[t]


@FLOATS
def test_slerp_normalises_what_it_leads_to(t: Scalar) -> None:
    a = rotations(t)
    b = Typed(a.type, np.roll(a.data, 1, axis=0))
    at = Typed(t, np.random.default_rng(8).uniform(0, 1, len(a.data)).astype(t.carrier))
    for factor in (0.25, 3.0):
        scaled = Typed(a.type, b.data * t.carrier.type(factor))
        got = one("wp.quat_slerp(x0, x1, x2)", a.type, a, scaled, at).astype(float)
        wanted = one("wp.quat_slerp(x0, x1, x2)", a.type, a, b, at).astype(float)
        assert np.abs(got - wanted).max() < 16 * ROUNDING[t]
