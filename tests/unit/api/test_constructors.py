"""``wp.vector``, ``wp.matrix``, ``wp.quaternion`` and ``wp.transformation``, on the host and in
kernels."""

import linecache
from typing import Any

import pytest

import heald as wp
from heald.diagnostics import CompileError, TypingError
from heald.types import Matrix, Quaternion, Transform, Vector, f16, f32, f64, i32, i64

CASES = [
    ("wp.vector(1.0, 2.0)", Vector(f32, 2), [1, 2]),
    ("wp.vector(1, 2, 3)", Vector(i32, 3), [1, 2, 3]),
    ("wp.vector(1, 2, length=2, dtype=wp.int64)", Vector(i64, 2), [1, 2]),
    ("wp.vector(7.0, length=3)", Vector(f32, 3), [7, 7, 7]),
    ("wp.vector(length=2)", Vector(f32, 2), [0, 0]),
    ("wp.vector(length=5, dtype=wp.float16)", Vector(f16, 5), [0] * 5),
    ("wp.vector(wp.vec2(1.0, 2.0), dtype=wp.float64)", Vector(f64, 2), [1, 2]),
    ("wp.vector(wp.vec2d(1.0, 2.0))", Vector(f64, 2), [1, 2]),
    ("wp.vector(wp.float64(0.1), 0.2)", Vector(f64, 2), [0.1, 0.2]),
    ("wp.vector(wp.float32(0.5), wp.float64(0.1))", Vector(f64, 2), [0.5, 0.1]),
    ("wp.vector(wp.int8(1), wp.float32(2.5))", Vector(f32, 2), [1, 2.5]),
    ("wp.vector(1, 2.5)", Vector(f32, 2), [1, 2.5]),
    ("wp.matrix(wp.float64(0.1), shape=(1, 2))", Matrix(f64, 1, 2), [0.1, 0.1]),
    ("wp.matrix(1.0, 2.0, shape=(1, 2))", Matrix(f32, 1, 2), [1, 2]),
    ("wp.matrix(shape=(2, 1), dtype=wp.int32)", Matrix(i32, 2, 1), [0, 0]),
    ("wp.matrix(3.0, shape=(2, 2), dtype=float)", Matrix(f32, 2, 2), [3] * 4),
    ("wp.matrix(wp.mat22(1.0, 2.0, 3.0, 4.0), dtype=wp.float64)", Matrix(f64, 2, 2), [1, 2, 3, 4]),
    ("wp.quaternion()", Quaternion(f32), [0] * 4),
    ("wp.quaternion(1, 2, 3, 4)", Quaternion(f32), [1, 2, 3, 4]),
    ("wp.quaternion(wp.vec3d(1.0, 2.0, 3.0), 4.0)", Quaternion(f64), [1, 2, 3, 4]),
    ("wp.quaternion(wp.quat(1.0, 2.0, 3.0, 4.0), dtype=wp.float64)", Quaternion(f64), [1, 2, 3, 4]),
    (
        "wp.quaternion(wp.float64(0.1), wp.float64(0.2), 0.3, 0.4)",
        Quaternion(f64),
        [0.1, 0.2, 0.3, 0.4],
    ),
    ("wp.quaternion(w=4.0, z=3.0, y=2.0, x=1.0)", Quaternion(f32), [1, 2, 3, 4]),
    ("wp.quaternion(1.0, 2.0, w=4.0, z=3.0)", Quaternion(f32), [1, 2, 3, 4]),
    ("wp.quaternion(real=4.0, ijk=wp.vec3d(1.0, 2.0, 3.0))", Quaternion(f64), [1, 2, 3, 4]),
    (
        "wp.quaternion(dtype=wp.float64, quat=wp.quat(1.0, 2.0, 3.0, 4.0))",
        Quaternion(f64),
        [1, 2, 3, 4],
    ),
    (
        "wp.spatial_vector(v=wp.vec3(4.0, 5.0, 6.0), w=wp.vec3(1.0, 2.0, 3.0))",
        Vector(f32, 6),
        [1, 2, 3, 4, 5, 6],
    ),
    (
        "wp.spatial_vector(1.0, 2.0, 3.0, vy=5.0, vx=4.0, vz=6.0)",
        Vector(f32, 6),
        [1, 2, 3, 4, 5, 6],
    ),
    ("wp.transformation(wp.float64(0.1))", Transform(f64), [0.1] * 7),
    ("wp.transformation(wp.vec3(1.0, 2.0, 3.0))", Transform(f32), [1, 2, 3, 0, 0, 0, 1]),
    (
        "wp.transformation(q=wp.quat(1.0, 0.0, 0.0, 0.0), p=wp.vec3(1.0, 2.0, 3.0))",
        Transform(f32),
        [1, 2, 3, 1, 0, 0, 0],
    ),
    (
        "wp.transformation(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, dtype=wp.float64)",
        Transform(f64),
        [1, 2, 3, 4, 5, 6, 7],
    ),
    (
        "wp.spatial_vector(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0))",
        Vector(f32, 6),
        [1, 2, 3, 4, 5, 6],
    ),
]


@pytest.mark.parametrize(("call", "t", "components"), CASES, ids=[c for c, _, _ in CASES])
def test_on_the_host(call: str, t: Any, components: list[float]) -> None:
    value = eval(call)
    assert value.__heald_type__ is t
    assert list(value.leaves) == components


def kernel_of(call: str, t: Any) -> Any:
    text = f"@wp.kernel\ndef make(y: wp.array(dtype=t)) -> None:\n    y[0] = {call}\n"
    file = f"<constructor {call}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"wp": wp, "t": t}
    exec(compile(text, file, "exec"), names)
    return names["make"]


@pytest.mark.parametrize(("call", "t", "components"), CASES, ids=[c for c, _, _ in CASES])
def test_in_kernels(call: str, t: Any, components: list[float]) -> None:
    y = wp.zeros(1, dtype=t, device="sim")
    wp.launch(kernel_of(call, t), dim=1, inputs=[y], device="sim")
    assert y.numpy().ravel().tolist() == components


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("wp.vector()", "misses 'length'"),
        ("wp.vector(1.0, 2.0, length=3)", "cannot be made of"),
        ("wp.matrix(1.0, 2.0)", "misses 'shape'"),
        ("wp.quaternion(1.0, 2.0)", "cannot be made of"),
        ("wp.quaternion(dtype=wp.int32)", "float type"),
        ("wp.quaternion(x=1.0, y=2.0)", "misses 'z'"),
        ("wp.quaternion(1.0, x=2.0, y=3.0, z=4.0)", "has no parameter 'x'"),
        ("wp.quaternion(a=1.0)", "has no parameter 'a'"),
        ("wp.spatial_vector(w=wp.vec3(1.0, 2.0, 3.0))", "misses 'v'"),
        ("wp.spatial_vector(w=wp.vec3(1.0, 2.0, 3.0), vx=1.0)", "has no parameter 'w'"),
        ("wp.spatial_vector(wp.vec2(1.0, 2.0), wp.vec2(1.0, 2.0))", "cannot be made of"),
    ],
)
def test_what_fits_no_type_is_refused(call: str, why: str) -> None:
    with pytest.raises(TypingError, match=why):
        eval(call)
    with pytest.raises(CompileError, match=why):
        wp.launch(kernel_of(call, f32), dim=1, inputs=[wp.zeros(1, device="sim")], device="sim")
