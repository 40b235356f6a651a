"""What builtins are compared with, where the table names no function of a library.

``EXACT``: numpy functions on the builtin's own numbers (16-bit floats as float32, the result is
rounded).  ``MPMATH``: one number at a time, any precision.  ``FLOAT64``: numpy functions, accurate
enough to judge float32 and narrower.  ``COMPOSITE``: numpy functions on float64 arrays whose
trailing axes are the components; they see the argument types first.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from heald.types import Matrix, Quaternion, Transform, Type

NDArray = npt.NDArray[Any]
Numpy = Callable[..., NDArray]


def _minimum(a: NDArray, b: NDArray | None = None) -> NDArray:
    if b is not None:
        return np.where(b < a, b, a)
    least = a[..., 0]
    for k in range(1, a.shape[-1]):
        least = _minimum(least, a[..., k])
    return least


def _maximum(a: NDArray, b: NDArray | None = None) -> NDArray:
    if b is not None:
        return np.where(b > a, b, a)
    most = a[..., 0]
    for k in range(1, a.shape[-1]):
        most = _maximum(most, a[..., k])
    return most


def _round(x: NDArray) -> NDArray:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x).astype(x.dtype), whole)


def _floordiv(a: NDArray, b: NDArray) -> NDArray:
    return np.where(b == 0, a / b, np.floor_divide(a, b)) if a.dtype.kind == "f" else a // b


def _any(test: Numpy) -> Numpy:
    return lambda a: test(a).reshape(len(a), -1).any(axis=1)


def _argument_first(better: Numpy) -> Numpy:
    def position(a: NDArray) -> NDArray:
        at = np.zeros(len(a), int)
        for k in range(1, a.shape[1]):
            rows = np.arange(len(a))
            at = np.where(better(a[:, k], a[rows, at]), k, at)
        return at

    return position


def _spread(operation: Numpy) -> Numpy:
    """A binary operation where one side may be a scalar for all components of the other."""

    def apply(a: NDArray, b: NDArray) -> NDArray:
        axes = max(a.ndim, b.ndim)
        return operation(*(x.reshape(len(x), *[1] * (axes - x.ndim), *x.shape[1:]) for x in (a, b)))

    return apply


def _count(b: NDArray) -> NDArray:
    return b & b.dtype.type(b.dtype.itemsize * 8 - 1)


def _bit_count(x: NDArray) -> NDArray:
    width = x.dtype.itemsize * 8
    return np.array([bin(int(v) % (1 << width)).count("1") for v in x])


def _erfcinv(q: Any) -> Any:
    """mpmath has no such function: Newton's method on the logarithm where ``q`` is small."""
    if not 0 < q < 2:
        raise ValueError("no real result")
    if q > 0.5:
        return mpmath.erfinv(1 - q)
    target = mpmath.log(q)
    y = mpmath.sqrt(-target)
    for _ in range(100):
        value = mpmath.erfc(y)
        step = (mpmath.log(value) - target) * value * mpmath.exp(y * y) * mpmath.sqrt(mpmath.pi) / 2
        y += step
        if abs(step) < mpmath.mpf(2) ** -100:
            return y
    raise AssertionError("no convergence")


_erf, _erfc = np.vectorize(math.erf, [float]), np.vectorize(math.erfc, [float])


def _inverse_erf_pair(x: NDArray, q: NDArray) -> NDArray:
    """The y from 0 up with erf(y) = x and erfc(y) = q, whichever of the two is not above 1/2."""
    y = np.sqrt(-np.log(q)) * 0.9
    for _ in range(60):
        value, power = _erfc(y), np.exp(y * y) * math.sqrt(math.pi) / 2
        step = np.where(x <= 0.5, (x - _erf(y)) * power, np.log(value / q) * value * power)
        y = np.abs(y + step)
        if (np.abs(step) <= 1e-15 * y).all():
            break
    return y


def _erfinv64(x: NDArray) -> NDArray:
    inside = np.abs(x) < 1
    a = np.where(inside, np.abs(x), 0.25)
    y = np.copysign(_inverse_erf_pair(a, 1 - a), x)
    y = np.where(np.abs(x) == 1, np.copysign(np.inf, x), np.where(inside, y, np.nan))
    return np.where(x == 0, x, y)


def _erfcinv64(q: NDArray) -> NDArray:
    inside = (q > 0) & (q < 2)
    b = np.where(inside, np.minimum(q, 2 - q), 0.75)
    y = np.copysign(_inverse_erf_pair(1 - b, b), 1 - q)
    y = np.where(q == 1, 0.0, y)
    return np.where(q == 0, np.inf, np.where(q == 2, -np.inf, np.where(inside, y, np.nan)))


EXACT: dict[str, Numpy] = {
    "copysign": lambda x, y: np.copysign(x, np.where(np.isnan(y), 1, y).astype(y.dtype)),
    "bit_count": _bit_count,
    "add": np.add,
    "sub": np.subtract,
    "mul": _spread(np.multiply),
    "neg": np.negative,
    "unot": lambda a: a == 0,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "lshift": lambda a, b: a << _count(b),
    "rshift": lambda a, b: a >> _count(b),
    "invert": np.invert,
    "min": _minimum,
    "max": _maximum,
    "clamp": lambda x, low, high: _minimum(_maximum(x, low), high),
    "sign": lambda x: np.where(x < 0, -1, 1),
    "step": lambda x: np.where(x < 0, 1, 0),
    "nonzero": lambda x: np.where(x != 0, 1, 0),
    "floordiv": _floordiv,
    "floormod": np.mod,
    "mod": np.fmod,
    "div": _spread(np.divide),
    "round": _round,
    "frac": lambda x: x - np.trunc(x),
    "isnan": _any(np.isnan),
    "isinf": _any(np.isinf),
    "isfinite": lambda a: ~_any(lambda v: ~np.isfinite(v))(a),
    "where": lambda c, a, b: np.where(c != 0, a, b),
    "select": lambda c, a, b: np.where(c != 0, b, a),
    "outer": lambda a, b: a[:, :, None] * b[:, None, :],
    "cw_mul": np.multiply,
    "cw_div": np.divide,
    "argmin": _argument_first(np.less),
    "argmax": _argument_first(np.greater),
    "transpose": lambda a: a.swapaxes(1, 2),
    "diag": lambda v: np.where(np.eye(v.shape[1], dtype=bool), v[:, :, None], v.dtype.type(0)),
    "get_diag": lambda a: np.diagonal(a, axis1=1, axis2=2),
    "skew": lambda v: np.stack(
        [
            np.stack([np.zeros_like(v[:, 0]), -v[:, 2], v[:, 1]], 1),
            np.stack([v[:, 2], np.zeros_like(v[:, 0]), -v[:, 0]], 1),
            np.stack([-v[:, 1], v[:, 0], np.zeros_like(v[:, 0])], 1),
        ],
        1,
    ),
    "matrix_from_rows": lambda *rows: np.stack(rows, 1),
    "matrix_from_cols": lambda *cols: np.stack(cols, 2),
    "quat_inverse": lambda q: q * np.array([-1, -1, -1, 1], q.dtype),
    "transform_get_translation": lambda x: x[:, :3],
    "transform_get_rotation": lambda x: x[:, 3:],
    "transform_set_translation_copy": lambda x, p: np.concatenate([p, x[:, 3:]], 1),
    "transform_set_rotation_copy": lambda x, q: np.concatenate([x[:, :3], q], 1),
    "transform_expand": lambda x: x,
    "spatial_top": lambda v: v[:, :3],
    "spatial_bottom": lambda v: v[:, 3:],
    "spatial_adjoint": lambda r, s: np.block([[r, np.zeros_like(r)], [s, r]]),
}

MPMATH: dict[str, Callable[..., Any]] = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "erfcinv": _erfcinv,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "degrees": mpmath.degrees,
    "radians": mpmath.radians,
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
}

FLOAT64: dict[str, Numpy] = {
    "cbrt": np.cbrt,
    "erf": _erf,
    "erfc": _erfc,
    "erfinv": _erfinv64,
    "erfcinv": _erfcinv64,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "degrees": np.degrees,
    "radians": np.radians,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "pow": np.power,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": lambda x: np.arcsin(np.clip(x, -1, 1)),
    "acos": lambda x: np.arccos(np.clip(x, -1, 1)),
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
}
FLOAT64 |= {f"precise_{name}": function for name, function in FLOAT64.items()}


# -- composites ----------------------------------------------------------------------------------


def _dot(a: NDArray, b: NDArray) -> NDArray:
    return np.sum(a * b, axis=-1)


def _normalize(types: Sequence[Type], a: NDArray) -> NDArray:
    return a / np.linalg.norm(a, axis=-1, keepdims=True)


def _hamilton(a: NDArray, b: NDArray) -> NDArray:
    v, w = a[:, :3], a[:, 3:]
    u, r = b[:, :3], b[:, 3:]
    return np.concatenate([w * u + r * v + np.cross(v, u), w * r - _dot(v, u)[:, None]], 1)


def _rotate(q: NDArray, v: NDArray) -> NDArray:
    return np.einsum("nij,nj->ni", _to_matrix(q), v)


def _to_matrix(q: NDArray) -> NDArray:
    x, y, z, w = q.T
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), w * w - x * x + y * y - z * z, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(r, 1) for r in rows], 1)


def _conjugate(q: NDArray) -> NDArray:
    return q * np.array([-1, -1, -1, 1])


def _mul(types: Sequence[Type], a: NDArray, b: NDArray) -> NDArray:
    match types:
        case Quaternion(), Quaternion():
            return _hamilton(a, b)
        case Transform(), Transform():
            p = _rotate(a[:, 3:], b[:, :3]) + a[:, :3]
            return np.concatenate([p, _hamilton(a[:, 3:], b[:, 3:])], 1)
        case Matrix(), Matrix():
            return a @ b
        case Matrix(), _:
            return np.einsum("nij,nj->ni", a, b)
    return np.einsum("ni,nij->nj", a, b)


def _point(types: Sequence[Type], a: NDArray, v: NDArray, one: float = 1.0) -> NDArray:
    if isinstance(types[0], Matrix):
        return np.einsum("nij,nj->ni", a[:, :3, :3], v) + one * a[:, :3, 3]
    return _rotate(a[:, 3:], v) + one * a[:, :3]


def _axis_angle(axis: NDArray, angle: NDArray) -> NDArray:
    half = angle[:, None] / 2
    return np.concatenate([axis * np.sin(half), np.cos(half)], 1)


def _rpy(_: Sequence[Type], roll: NDArray, pitch: NDArray, yaw: NDArray) -> NDArray:
    x, y, z = (np.tile(row, (len(roll), 1)) for row in np.eye(3))
    about_x, about_y, about_z = _axis_angle(x, roll), _axis_angle(y, pitch), _axis_angle(z, yaw)
    return _hamilton(about_z, _hamilton(about_y, about_x))


def _slerp(_: Sequence[Type], a: NDArray, b: NDArray, t: NDArray) -> NDArray:
    """``a`` times the rotation from ``a`` to ``b``, of which the angle is scaled."""
    d = _hamilton(_conjugate(a), b)
    d = np.where(d[:, 3:] < 0, -d, d)
    size = np.linalg.norm(d[:, :3], axis=1)
    angle = 2 * np.arctan2(size, d[:, 3])
    return _hamilton(a, _axis_angle(d[:, :3] / size[:, None], angle * t))


def _from_matrix(_: Sequence[Type], a: NDArray) -> NDArray:
    """Checked by what it does: the tests compare matrices of the result."""
    return a[:, :3, :3]


def _scaled(function: Numpy) -> Callable[..., NDArray]:
    return lambda _, *arguments: function(*arguments)


def _smoothstep(a: NDArray, b: NDArray, x: NDArray) -> NDArray:
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def _lerp(a: NDArray, b: NDArray, t: NDArray) -> NDArray:
    t = t.reshape(-1, *[1] * (a.ndim - 1))
    return a * (1 - t) + b * t


def _huber(v: NDArray, delta: NDArray) -> NDArray:
    size = np.linalg.norm(v, axis=-1)
    return np.where(size <= delta, size**2 / 2, delta * (size - delta / 2))


def _pseudo_huber(v: NDArray, delta: NDArray) -> NDArray:
    return delta * np.sqrt(1 + _dot(v, v) / delta**2)


def _from_euler(e: NDArray, *axes: NDArray) -> NDArray:
    """Axes other than 0 and 1 are 2."""
    q = np.tile([0.0, 0.0, 0.0, 1.0], (len(e), 1))
    for given in axes:
        axis = np.where((given == 0) | (given == 1), given, 2).astype(int)
        q = _hamilton(_axis_angle(np.eye(3)[axis], e[np.arange(len(e)), axis]), q)
    return q


def _top(x: NDArray) -> NDArray:
    return x[:, :3]


def _bottom(x: NDArray) -> NDArray:
    return x[:, 3:]


def _spatial_cross(a: NDArray, b: NDArray, *, dual: bool) -> NDArray:
    w, v = _top(a), _bottom(a)
    both = np.cross(w, _top(b)), np.cross(w, _bottom(b))
    if dual:
        return np.concatenate([both[0] + np.cross(v, _bottom(b)), both[1]], 1)
    return np.concatenate([both[0], both[1] + np.cross(v, _top(b))], 1)


def _twist_or_wrench(t: NDArray, x: NDArray, *, wrench: bool) -> NDArray:
    top, bottom = _rotate(_bottom(t), _top(x)), _rotate(_bottom(t), _bottom(x))
    if wrench:
        return np.concatenate([top + np.cross(_top(t), bottom), bottom], 1)
    return np.concatenate([top, bottom + np.cross(_top(t), top)], 1)


def _affine(p: NDArray, q: NDArray, scale: NDArray) -> NDArray:
    out = np.tile(np.eye(4), (len(p), 1, 1))
    out[:, :3, :3] = _to_matrix(q) * scale[:, None, :]
    out[:, :3, 3] = p
    return out


COMPOSITE: dict[str, Callable[..., NDArray]] = {
    "norm_l1": _scaled(lambda v: np.abs(v).sum(axis=-1)),
    "norm_l2": _scaled(lambda v: np.linalg.norm(v, axis=-1)),
    "norm_huber": _scaled(_huber),
    "norm_pseudo_huber": _scaled(_pseudo_huber),
    "smooth_normalize": _scaled(lambda v, delta: v / _pseudo_huber(v, delta)[:, None]),
    "quat_from_euler": _scaled(_from_euler),
    "spatial_dot": _scaled(_dot),
    "spatial_cross": _scaled(lambda a, b: _spatial_cross(a, b, dual=False)),
    "spatial_cross_dual": _scaled(lambda a, b: _spatial_cross(a, b, dual=True)),
    "velocity_at_point": _scaled(lambda qd, r: _bottom(qd) + np.cross(_top(qd), r)),
    "transform_twist": _scaled(lambda t, x: _twist_or_wrench(t, x, wrench=False)),
    "transform_wrench": _scaled(lambda t, x: _twist_or_wrench(t, x, wrench=True)),
    "transform_to_matrix": _scaled(lambda x: _affine(_top(x), _bottom(x), np.ones((len(x), 3)))),
    "transform_compose": _scaled(_affine),
    "lerp": _scaled(_lerp),
    "smoothstep": _scaled(_smoothstep),
    "dot": _scaled(_dot),
    "cross": _scaled(np.cross),
    "length_sq": _scaled(lambda a: _dot(a, a)),
    "length": _scaled(lambda a: np.linalg.norm(a, axis=-1)),
    "normalize": _normalize,
    "mul": _mul,
    "ddot": _scaled(lambda a, b: np.sum(a * b, axis=(1, 2))),
    "trace": _scaled(lambda a: np.trace(a, axis1=1, axis2=2)),
    "determinant": _scaled(np.linalg.det),
    "inverse": _scaled(np.linalg.inv),
    "quat_rotate": _scaled(_rotate),
    "quat_rotate_inv": _scaled(lambda q, v: _rotate(_conjugate(q), v)),
    "quat_from_axis_angle": _scaled(_axis_angle),
    "quat_to_matrix": _scaled(_to_matrix),
    "quat_rpy": _rpy,
    "quat_slerp": _slerp,
    "transform_multiply": _mul,
    "transform_inverse": _scaled(
        lambda x: np.concatenate(
            [-_rotate(_conjugate(x[:, 3:]), x[:, :3]), _conjugate(x[:, 3:])], 1
        )
    ),
    "transform_point": _point,
    "transform_vector": lambda types, a, v: _point(types, a, v, 0.0),
}
