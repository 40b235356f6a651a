"""Composite values and memory: constructors, components, views, updates in place."""

import numpy as np
import pytest
from unit.frontend.harness import count_ops, launch, lower, pointed_at, refuse_text

import heald as wp

# --------------------------------------------------------------------------------- constructors


@wp.kernel
def construct(a: wp.array(dtype=wp.vec3), d: wp.vec3d, x: wp.float64, n: int, h: wp.int8):
    a[0] = wp.vec3()
    a[1] = wp.vec3(1)
    a[2] = wp.vec3(1, 2.5, n)
    a[3] = wp.vec3(d)  # of one shape: an explicit conversion
    a[4] = wp.vec3(x, h, True)  # floats round, the rest widens
    a[5] = wp.vec3(wp.vec3d(0.1))


def test_constructors_convert_what_their_name_says() -> None:
    a = np.full((6, 3), 9.0, np.float32)
    launch(construct, 1, a, (0.1, 0.2, 0.3), 0.1, -4, -5)
    expected = [[0, 0, 0], [1, 1, 1], [1, 2.5, -4], [0.1, 0.2, 0.3], [0.1, -5, 1], [0.1] * 3]
    assert a.tolist() == np.array(expected, np.float32).tolist()


@pytest.mark.parametrize(
    ("expression", "code", "under"),
    [
        ("wp.vec3i(x, 1, 2)", "H0205", "x"),
        ("wp.vec3(1.0, w, 2.0)", "H0205", "w"),
        ("wp.vec3i(1.5)", "H0202", "1.5"),
        ("wp.vec3(1.0, 2.0)", "H0206", "wp.vec3(1.0, 2.0)"),
        ("wp.vec3(wp.vec2(), 1.0)", "H0206", "wp.vec3(wp.vec2(), 1.0)"),
        ("wp.vec3(x=1.0)", "H0305", "1.0"),
        ("wp.mat22(1.0, 2.0, 3.0)", "H0206", "wp.mat22(1.0, 2.0, 3.0)"),
        ("wp.quat(1.0)", "H0206", "wp.quat(1.0)"),
        ("wp.transform(1.0, 2.0)", "H0206", "wp.transform(1.0, 2.0)"),
        ("wp.float32(1.0, 2.0)", "H0305", "wp.float32(1.0, 2.0)"),
        ("float(wp.vec3())", "H0201", "wp.vec3()"),
        ("FloatArray(3)", "H0102", "FloatArray(3)"),
        ("wp.vec3(a)", "H0206", "wp.vec3(a)"),
        ("wp.vec3(wp.sin)", "H0107", "wp.sin"),
    ],
)
def test_constructors_that_do_not_fit(expression: str, code: str, under: str) -> None:
    found = refuse_text(
        f"""
        @wp.kernel
        def k(a: wp.array(dtype=float), x: float, w: wp.int64):
            v = {expression}
        """,
        FloatArray=wp.array(dtype=float),
    )
    assert (found.code, pointed_at(found)) == (code, under)


# ----------------------------------------------------------------------------------- components


@wp.kernel
def components(m: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec4), i: int):
    x = v[0]
    x.y, x[0] = x[0], x.y
    x[-1] += 10.0
    x[i] *= 2.0
    x[1:3] = x[2:4]
    v[1] = x
    y = m[0]
    y[0] = y[2]
    y[i] = wp.vec3(1.0, 2.0, 3.0)
    y[2, i] = 6.0
    y[i + 1][i] += 1.0
    y[i, 0] += 0.5
    y[0:2, 2] = wp.vec2(8.0, 9.0)
    m[1] = y
    v[2] = wp.vec4(y[1][2], y[i, 1], y[-1, -1], float(len(x) + len(y)))
    z = y[1:, :2]
    v[3] = wp.vec4(z[0, 0], z[0, 1], z[1, 0], z[1, 1])


def test_components_are_read_and_rebound() -> None:
    m = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    v = np.arange(16, dtype=np.float32).reshape(4, 4)
    launch(components, 1, m, v, 1)
    x = np.array([0, 1, 2, 3], np.float32)
    x[1], x[0] = x[0], x[1]
    x[-1] += 10
    x[1] *= 2
    x[1:3] = x[2:4].copy()
    y = np.arange(9, dtype=np.float32).reshape(3, 3)
    y[0] = y[2]
    y[1] = [1, 2, 3]
    y[2, 1] = 7
    y[1, 0] += 0.5
    y[0:2, 2] = [8, 9]
    assert v[1].tolist() == x.tolist()
    assert m[1].tolist() == y.tolist()
    assert v[2].tolist() == [y[1, 2], y[1, 1], y[2, 2], 7]
    assert v[3].tolist() == y[1:, :2].ravel().tolist()


def test_assigning_a_part_of_a_value_leaves_other_names_alone() -> None:
    @wp.kernel
    def k(v: wp.array(dtype=wp.vec2)):
        x = v[0]
        y = x
        y.x = 5.0
        v[1] = x
        v[2] = y

    v = np.ones((3, 2), np.float32)
    launch(k, 1, v)
    assert v.tolist() == [[1, 1], [1, 1], [5, 1]]


@pytest.mark.parametrize(
    ("statement", "code", "under"),
    [
        ("x = v[0][3]", "H0209", "3"),
        ("x = v[0][-4]", "H0209", "-4"),
        ("x = v[0][0, 1]", "H0209", "v[0][0, 1]"),
        ("x = v[0][1.5]", "H0209", "1.5"),
        ("x = v[0][f]", "H0209", "f"),
        ("x = m[i][1:2, i]", "H0209", "1:2"),
        ("x = v[0][i:]", "H0209", "i"),
        ("x = v[0].w", "H0303", "v[0].w"),
        ("v[0].xy = f", "H0303", "v[0].xy"),
        ("x = v[0, 0]", "H0209", "v[0, 0]"),
        ("x = v[f]", "H0209", "f"),
        ("x = v[0:3:i]", "H0209", "i"),
        ("x = v[0:3:0]", "H0209", "0"),
        ("x = f[0]", "H0209", "f"),
        ("f[0] = 1.0", "H0109", "f"),
        ("i.x = 1.0", "H0303", "i.x"),
        ("v[0] = f", "H0201", "f"),
        ("v[0].x = d", "H0205", "d"),
        ("v[0] = wp.vec3d()", "H0201", "wp.vec3d()"),
        ("v = v + v", "H0201", "v + v"),
        ("v += 1.0", "H0109", "v"),
        ("m[0][i, 0] += f", "H0109", "m[0][i, 0] += f"),
        ("v.shape = 3", "H0109", "v.shape"),
        ("wp.pi = 3.0", "H0109", "wp"),
        ("x = v.shape[1]", "H0209", "v.shape[1]"),
        ("x = v.shape[i]", "H0209", "v.shape[i]"),
        ("x, y = v[0]", "H0206", "x, y"),
        ("x, *y = v[0]", "H0109", "*y"),
        ("*x, y, z = v[0]", "H0109", "*x"),
        ("x, y = f", "H0206", "x, y"),
        ("x = (f, i)[i]", "H0209", "(f, i)[i]"),
        ("x = (f, i)[2]", "H0209", "(f, i)[2]"),
    ],
)
def test_places_that_cannot_be(statement: str, code: str, under: str) -> None:
    found = refuse_text(
        f"""
        @wp.kernel
        def k(v: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), f: float, i: int,
              d: wp.float64):
            {statement}
        """
    )
    assert (found.code, pointed_at(found)) == (code, under)


# ----------------------------------------------------------------------------------- local arrays


@wp.kernel
def local_views(a: wp.array(dtype=float), j: int):
    z = wp.zeros(shape=(2, 3), dtype=float)
    row = z[1]
    row[0] = 5.0
    z[j][2] += 3.0
    a[0] = z[1, 0]
    a[1] = z[1, 1:][1]
    a[2] = float(row.shape[0] * 100 + len(z[:, 1]) * 10 + z.ndim)
    a[3] = row[-1]


def test_views_of_local_arrays_share_their_memory() -> None:
    a = np.zeros(4, np.float32)
    launch(local_views, 1, a, 1)
    assert a.tolist() == [5.0, 3.0, 322.0, 3.0]
    outcome = launch(local_views, 1, a, 2)
    assert outcome.faults[0].index[0] == 2


@pytest.mark.parametrize(
    ("call", "code", "under"),
    [
        ("wp.zeros(shape=n, dtype=float)", "H0107", "n"),
        ("wp.zeros(shape=0, dtype=float)", "H0107", "0"),
        ("wp.zeros(shape=(2, 2, 2, 2, 2), dtype=float)", "H0107", "(2, 2, 2, 2, 2)"),
        ("wp.zeros(shape=10**9, dtype=float)", "H0407", "10**9"),
        ("wp.zeros(shape=2, dtype=n)", "H0207", "n"),
        ("wp.zeros(shape=2, dtype=Holder)", "H0207", "Holder"),
        ("wp.zeros(2)", "H0305", "wp.zeros(2)"),
        ("wp.zeros(shape=2, dtype=float, device='cpu')", "H0305", "'cpu'"),
        ("wp.zeros(2, shape=2, dtype=float)", "H0305", "2"),
    ],
)
def test_local_arrays_that_cannot_be(call: str, code: str, under: str) -> None:
    @wp.struct
    class Holder:
        a: wp.array(dtype=float)

    text = f"@wp.kernel\ndef k(n: int):\n    z = {call}\n"
    found = refuse_text(text, Holder=Holder)
    assert (found.code, pointed_at(found)) == (code, under)


# ------------------------------------------------------------------------------------- atomics


@wp.kernel
def atomics_by_name(a: wp.array2d(dtype=int), b: wp.array(dtype=int)):
    b[0] = wp.atomic_add(a, 0, 1, value=5)
    b[1] = wp.atomic_max(value=7, arr=a, j=0, i=1)
    b[2] = wp.atomic_cas(a, 1, j=1, compare=3, value=9)
    b[3] = wp.atomic_exch(b, (3,), value=4)


def test_atomics_take_their_arguments_by_name() -> None:
    a, b = np.arange(4, dtype=np.int32).reshape(2, 2), np.zeros(4, np.int32)
    launch(atomics_by_name, 1, a, b)
    assert a.tolist() == [[0, 6], [7, 9]]
    assert b.tolist() == [1, 2, 3, 0]


@wp.kernel
def updates(v: wp.array(dtype=wp.vec2), n: wp.array(dtype=int)):
    n[0] += 1
    n[1] -= 2
    n[2] &= 6
    n[3] |= 8
    n[4] ^= 1
    n[5] *= 3
    n[6] //= 2
    n[7] <<= 2
    v[0] += wp.vec2(1.0, 2.0)
    v[0].y -= 0.5
    v[0] *= 2.0


def test_updates_of_elements_are_atomic_where_the_design_says() -> None:
    wir = lower(updates)
    assert count_ops(wir, "atomic_add") == 2
    assert count_ops(wir, "atomic_sub") == 2
    assert count_ops(wir, "atomic_and", "atomic_or", "atomic_xor") == 3
    v, n = np.zeros((1, 2), np.float32), np.array([7] * 8, np.int32)
    launch(updates, 1, v, n)
    assert n.tolist() == [8, 5, 6, 15, 6, 21, 3, 28]
    assert v.tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize(
    ("statement", "code", "under"),
    [
        ("f[0] &= 1.0", "H0201", "f[0]"),
        ("b[0] += True", "H0201", "b[0]"),
        ("wp.atomic_xor(f, 0, 1.0)", "H0201", "f"),
        ("wp.atomic_min(b, 0, True)", "H0201", "b"),
        ("wp.atomic_add(1.0, 0, 1.0)", "H0203", "1.0"),
        ("wp.atomic_add(f, 1.0)", "H0203", "wp.atomic_add(f, 1.0)"),
        ("wp.atomic_add(f, 0, values=1.0)", "H0305", "1.0"),
        ("wp.atomic_add(f, i=0)", "H0305", "0"),
        ("wp.atomic_add(f, 0, i=0, value=1.0)", "H0305", "0"),
        ("wp.atomic_add(f, i=0, j=0, value=1.0)", "H0203", "wp.atomic_add(f, i=0, j=0, value=1.0)"),
        ("wp.atomic_add(f, 0, 0, 1.0)", "H0203", "wp.atomic_add(f, 0, 0, 1.0)"),
        ("wp.atomic_cas(f, 0, 1.0)", "H0203", "wp.atomic_cas(f, 0, 1.0)"),
        ("wp.atomic_add(f, 0.5, 1.0)", "H0209", "0.5"),
        ("wp.atomic_add(f, 0, wp.float64(1.0))", "H0205", "wp.float64(1.0)"),
        ("wp.atomic_add()", "H0203", "wp.atomic_add()"),
    ],
)
def test_atomics_that_cannot_be(statement: str, code: str, under: str) -> None:
    found = refuse_text(
        f"""
        @wp.kernel
        def k(f: wp.array(dtype=float), b: wp.array(dtype=bool)):
            {statement}
        """
    )
    assert (found.code, pointed_at(found)) == (code, under)
