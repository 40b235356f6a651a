"""Turns of the language that random sources do not take, each in a kernel of its own.

Every kernel has the same parameters; Python says what it means (``meaning.oracle``).
"""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from meaning.checking import Case, examine
from meaning.language import lower_text
from meaning.running import random_array
from meaning.test_widened import examine_widened

from heald.types import Array

HEADER = (
    "def k(A: wp.array(dtype=float), C: wp.array(dtype=int), B: wp.array(dtype=float, ndim=2), "
    "D: wp.array(dtype=wp.int64, ndim=2), E: wp.array(dtype=wp.vec3), M: wp.array(dtype=wp.mat22)):"
)
FUNCTIONS = """
@wp.func
def early(x: float, n: int):
    while True:
        for k in range(n):
            if x > 2.0:
                return x
            x += 0.75
            if k == 3:
                break
        else_ = x * 0.5
        if else_ < 0.0:
            return else_
        n += 1
        if n > 6:
            break
    return -x


@wp.func
def root(x: int):
    k = 0
    while True:
        if k * k >= x:
            return k
        k += 1


@wp.func
def countdown(x: float, n: int):
    if x > 1.0e3:
        return x
    while True:
        while True:
            n -= 1
            if n < 3:
                break
        if n < 0:
            return x
        x += 1.0


@wp.func
def pair(x: int, y: int):
    if x > y:
        return y, x
    return x, y


@wp.func
def nothing(B: wp.array(dtype=float, ndim=2), i: int, x: float):
    if x < 0.0:
        return
    B[i, 0] = x


@wp.func
def chain(x: float, n: int):
    a, b = pair(n, 3)
    return early(x, a) + early(-x, b)


@wp.func
def shift(v: wp.vec3, by: float = 0.5):
    v.x += by
    v = v * 2.0
    v[1] -= by
    return v
"""

FEATURES = {
    "several targets": """
        a = b = C[i]
        a += 1
        D[i, 0] = D[i, 1] = a * 10 + b
        """,
    "nested tuples": """
        (a, b), c = pair(C[i], 5), 7
        D[i, 0] = a * 100 + b * 10 + c
        a, (b, c) = c, (a, b)
        D[i, 1] = a * 100 + b * 10 + c
        """,
    "swapped elements": """
        L = wp.zeros(shape=3, dtype=int)
        L[0], L[1], L[2] = C[i], 5, 9
        L[0], L[2] = L[2], L[0]
        j = 0
        j, L[j] = 2, 77
        D[i, 0] = L[0] * 10000 + L[1] * 100 + L[2]
        """,
    "vectors taken apart": """
        v = E[i]
        x, y, z = v
        z, v.x = x, z
        E[i] = wp.vec3(y, z, v[0]) - v
        w = v[0:2]
        w[1] = 3.0
        B[i, 0] = w[1] + v.y
        B[i, 1] = float(len(v))
        """,
    "parts of matrices": """
        m = M[i]
        row = m[0]
        m[0] = m[1]
        m[1] = row
        m[0, 1] += m[1][0] * 2.0
        j = C[i] % 2
        m[j] = m[1 - j] + wp.vec2(1.0, 2.0)
        m[j][1] = 5.0
        M[i] = m
        M[i][1, 0] *= 3.0
        """,
    "calls that return early": """
        x = early(A[i], 2) if early(A[i], C[i] % 4) > 0.0 and C[i] != 3 else chain(A[i], C[i] % 5)
        B[i, 0] = x
        nothing(B, i, x)
        nothing(B, i, -x)
        """,
    "defaults and keywords": """
        E[i] = shift(E[i]) + shift(v=E[i], by=A[i]) + shift(E[i], by=2)
        """,
    "a loop variable that is changed": """
        s = 0
        k = 100
        for k in range(C[i] % 5):
            k = k * 2
            if k > 5:
                continue
            s += k
        D[i, 0] = s
        D[i, 1] = k
        for k in range(3, 0, -1):
            s = s * 10 + k
        D[i, 2] = k
        D[i, 3] = s
        """,
    "loops that leave loops": """
        n = 0
        for a in range(4):
            b = 0
            while True:
                b += 1
                if b > a + C[i] % 3:
                    break
                for c in range(b):
                    if c == 2:
                        break
                    if (a + b + c) % 3 == 0:
                        continue
                    n += 1
                else_ = n
                if else_ > 12:
                    break
            if n > 20:
                D[i, 0] = n
                return
            n += a
        D[i, 1] = n
        """,
    "short circuits guard accesses": """
        j = C[i]
        if j >= 0 and j < A.shape[0] and A[j] > 0.0:
            B[i, 0] = A[j]
        elif j < 0 or j >= A.shape[0] or A[j] == 0.0:
            B[i, 1] = 1.0
        B[i, 2] = A[j] if 0 <= j < A.shape[0] else 0.0
        B[i, 3] = 1.0 if not (0 <= j < A.shape[0] and not A[j] < 1.0) else 2.0
        """,
    "compile-time branches": """
        big = 3 > 2
        x = 1.0
        if big:
            y = A[i]
        else:
            y = undefined_name
        for u in wp.static(range(3)):
            if u == 1:
                x += y
            else:
                x *= 2.0
        B[i, 0] = x
        """,
    "types that climb": """
        s = 0
        t = 0
        for a in range(3):
            for b in range(2):
                s = s + A[i] * 0.5
                t = t + D[i, 0]
            s = s + 1
        B[i, 0] = s
        D[i, 1] = t
        """,
    "sums with products": """
        x, y, z = A[i], A[0], A[1]
        B[i, 0] = x * y + z
        B[i, 1] = ((x * y)) - z
        B[i, 2] = z - x * y
        B[i, 3] = x * y - y * x
        p = x * y
        E[i] += wp.vec3(p + z, (x * y + z) * 1.0, -(x * y) + z)
        z += x * y
        z -= 3 * x
        B[i, 0] += z
        B[i, 1] += x * y
        v = E[i] * x - wp.vec3(y)
        v.y += x * y
        v[2] -= x * y
        E[i] = v * C[i] + v
        """,
    "views of views": """
        row = B[i]
        tail = row[1:]
        back = tail[::-1]
        back[0] = 5.0
        tail[0] += 2.0
        row[2] = back[1] + float(back.shape[0] * 10 + len(tail))
        column = B[:, 3]
        row[1] = A[::2][1] + A[3:0:-1][2]
        """,
    "numbers at the edge": """
        n = C[i]
        low = -2147483648
        D[i, 0] = wp.int64(low // (n - n - 1)) + wp.int64(abs(low)) + wp.int64(-low)
        D[i, 1] = wp.int64(low * 2) + wp.int64(low - 1) + (wp.int64(1) << n)
        D[i, 2] = wp.int64(wp.uint8(n)) + wp.int64(wp.int8(n * 100)) + wp.int64(wp.uint32(n) >> 3)
        D[i, 3] = wp.int64(wp.float64(A[i]) * 1e30) + wp.int64(int(A[i] * 1e20)) + (n >> 40 % 32)
        """,
    "declared types": """
        x: wp.float64 = 0
        y: wp.int64 = C[i]
        for a in range(3):
            x += A[i]
            y = y * 2147483647
        D[i, 0] = y
        B[i, 0] = float(x * 0.5)
        """,
    "names that come and go": """
        for a in range(2):
            if a == 1:
                t = C[i]
                if t > 3:
                    t = t * 2
                else:
                    t = t + A[i]
                B[i, a] = t
            t = 5
            D[i, a] = t
        t = A[i]
        B[i, 2] = t
        """,
    "unrolled loops that are left": """
        s = 0
        for u in range(3):
            for v in wp.static(range(5)):
                if v == 1:
                    continue
                if C[i] % 6 == u + v:
                    s += 1000
                    break
                for w in range(10):
                    if w > v:
                        break
                    s += 1
            s += 7
        D[i, 0] = s
        t = 0
        for v in wp.static(range(4)):
            if v == 2:
                break
            t = t * 10 + v + C[i]
        D[i, 1] = t
        """,
    "iterations of unrolled loops that are left": """
        s = 0
        t = 0
        for v in wp.static(range(4)):
            if C[i] % 4 == v:
                continue
            t = t + A[i] * v
            if C[i] > 20 and v == 2:
                break
            if v == 3:
                for w in range(3):
                    if w == C[i] % 5:
                        continue
                    s += 1
                if C[i] % 3 == 0:
                    continue
                s += 100
            s += 10
        B[i, 0] = t
        D[i, 0] = s
        for v in wp.static(range(9)):
            if v >= 3:
                break
            if C[i] % 2 == v:
                continue
            D[i, 1 + v] = s + v
        for v in wp.static(range(5)):
            if v == C[i] % 7:
                continue
            if v == 2:
                break
            s += v + 1000
        D[i, 2] += s
        for v in wp.static(range(3)):
            for w in wp.static(range(3)):
                if C[i] % 4 == w:
                    continue
                if C[i] % 5 == v:
                    break
                s = s * 3 + w
            if s > 1000000:
                continue
            s += v
        D[i, 3] = s
        """,
    "functions that end in a loop without end": """
        D[i, 0] = root(C[i] % 50) + 10 * root(-5)
        x = B[i, 0]
        B[i, 1] = countdown(x, C[i] % 7)
        """,
    "conditions that write": """
        D[i, 0] = 0
        while wp.atomic_add(D, i, 0, 1) < C[i] % 4 and D[i, 0] < 3:
            D[i, 1] += D[i, 0]
        if wp.atomic_max(D, i, 2, 7) < 7 or wp.atomic_sub(D, i, 0, 2) > 0:
            D[i, 3] = 9
        """,
}
SWITCHES = {"types that climb": "# climbs k.s float32\n# climbs k.t int64\n"}


def source_of(name: str) -> str:
    body = textwrap.indent(textwrap.dedent(FEATURES[name]).strip(), "    ")
    text = f"{FUNCTIONS}\n\n@wp.kernel\n{HEADER}\n    i = wp.tid()\n{body}\n"
    return text + SWITCHES.get(name, "")


def case_of(name: str, seed: int) -> Case:
    kernel = lower_text(source_of(name), f"feature {name} {seed}")
    random = np.random.default_rng(seed)
    args = []
    for p in kernel.params:
        assert isinstance(p.type, Array)
        args.append(random_array(p.type, (9, 4)[: p.type.ndim], random, wild=seed % 2 == 1))
    return Case(source_of(name), kernel, (9,), args)


@pytest.mark.cpu
@pytest.mark.parametrize("name", FEATURES)
def test_it_means_what_python_means(name: str) -> None:
    left = examine(case_of(name, 2))
    assert left.fault is None
    examine(case_of(name, 3), compiled=False)


@pytest.mark.cpu
def test_they_mean_the_same_in_vectors() -> None:
    counts = {name: examine_widened(case_of(name, 2), 4) for name in FEATURES}
    assert sum(count > 0 for count in counts.values()) > len(counts) // 2


def test_most_features_write_something() -> None:
    for name in FEATURES:
        case = case_of(name, 2)
        before = [a.buffer.tobytes() for a in case.args]
        assert examine(case, compiled=False, oracle=False).memory != before, name
