"""For each row of the tables in ``docs/language.md``, kernels that show what it says.

``test_language.py`` runs them; the site shows them (``sitegen/language.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """The body of a kernel, what its arrays hold before, and what comes out.

    Attributes:
        body: statements of a kernel with the parameters ``f``, an array of floats, and ``n``, one
            of ints; for ``whole``, a program that defines such a kernel ``k``.
        f: what is in ``f`` before.
        n: what is in ``n`` before.
        gives: what is in the array ``f`` or ``n`` afterwards, from its beginning.
        code: of the error, where it is refused or fails.
        whole: is ``body`` a program?
    """

    body: str
    f: Sequence[float] = ()
    n: Sequence[int] = ()
    gives: Sequence[float] = ()
    code: str = ""
    whole: bool = False


# Heading of the section, then the first cell of the row.
CASES: dict[str, dict[str, list[Case]]] = {
    "Types": {
        "`bool`, `wp.bool`": [Case("x = wp.bool(n[0])\nn[0] = int(x)", n=[7], gives=[1])],
        "`wp.int8` `wp.int16` `wp.int32` `wp.int64`": [
            Case("n[0] = int(wp.int8(n[0]))", n=[200], gives=[-56]),
            Case(
                "x = wp.int64(n[0]) * wp.int64(n[0])\nn[0] = int(x >> 32)", n=[2**30], gives=[2**28]
            ),
        ],
        "`wp.uint8` `wp.uint16` `wp.uint32` `wp.uint64`": [
            Case("n[0] = int(wp.uint16(n[0]))", n=[-1], gives=[65535])
        ],
        "`wp.float16` `wp.bfloat16` `wp.float32` `wp.float64`": [
            Case("f[0] = float(wp.float16(f[0]))", f=[2049.0], gives=[2048.0]),
            Case("f[0] = float(wp.bfloat16(f[0]))", f=[257.0], gives=[256.0]),
            Case("x = wp.float64(f[0])\nf[0] = float(x + 2.0**-40 - x)", f=[1.0], gives=[2.0**-40]),
        ],
        "`wp.vec2` `wp.vec3` `wp.vec4`": [
            Case("v = wp.vec3(f[0], 2.0, 3.0)\nf[0] = v[2] + v.x", f=[1.0], gives=[4.0]),
            Case("v = wp.vec3ub(wp.uint8(n[0]))\nn[0] = int(v.z)", n=[258], gives=[2]),
        ],
        "`wp.mat22` `wp.mat33` `wp.mat44`": [
            Case("m = wp.mat22(f[0], 2.0, 3.0, 4.0)\nf[0] = m[1, 0]", f=[1.0], gives=[3.0])
        ],
        "`wp.quat` `wp.transform`": [
            Case("q = wp.quat(0.0, 0.0, 0.0, f[0])\nf[0] = q.w", f=[1.0], gives=[1.0]),
            Case(
                "t = wp.transform(wp.vec3(f[0]), wp.quat_identity())\nf[0] = t.p.x + t.q.w",
                f=[1.0],
                gives=[2.0],
            ),
        ],
        "`wp.types.vector(length=5, dtype=wp.float64)`": [
            Case(
                """
                vec5 = wp.types.vector(length=5, dtype=float)

                @wp.kernel
                def k(f: wp.array(dtype=float), n: wp.array(dtype=int)):
                    v = vec5(f[0])
                    v[4] = 2.0
                    f[0] = v[3] + v[4]
                """,
                f=[1.0],
                gives=[3.0],
                whole=True,
            )
        ],
        "`wp.types.matrix(shape=(2, 3), dtype=float)`": [
            Case(
                """
                mat23 = wp.types.matrix(shape=(2, 3), dtype=float)

                @wp.kernel
                def k(f: wp.array(dtype=float), n: wp.array(dtype=int)):
                    m = mat23(f[0], 1.0, 2.0, 3.0, 4.0, 5.0)
                    f[0] = m[1, 2]
                """,
                f=[9.0],
                gives=[5.0],
                whole=True,
            )
        ],
        "`wp.array(dtype=float, ndim=2)`": [
            Case(
                "m = wp.zeros(shape=(2, 2), dtype=float)\nm[1, 1] = f[0]\nf[0] = m[1][1] + m[0, 1]",
                f=[3.0],
                gives=[3.0],
            )
        ],
        "a class with `@wp.struct`": [
            Case(
                """
                @wp.struct
                class Pair:
                    one: float
                    two: float

                @wp.kernel
                def k(f: wp.array(dtype=float), n: wp.array(dtype=int)):
                    p = Pair(one=f[0])
                    q = p
                    q.two = 5.0
                    f[0] = p.one + p.two + q.two
                """,
                f=[1.0],
                gives=[6.0],
                whole=True,
            )
        ],
    },
    "Operators": {
        "`+` `-` `*`": [
            Case("n[0] = n[0] + 1", n=[2**31 - 1], gives=[-(2**31)]),
            Case("f[0] = f[0] + 1.0", f=[2.0**24], gives=[2.0**24]),
        ],
        "`/`": [
            Case("f[0] = f[0] / 2.0", f=[3.0], gives=[1.5]),
            Case("n[0] = n[0] / 2", n=[3], code="H0108"),
        ],
        "`//` `%`": [
            Case("n[0] = n[0] // 2\nn[1] = n[1] % 3", n=[-7, -7], gives=[-4, 2]),
            Case("f[0] = f[0] // 2.0\nf[1] = f[1] % 3.0", f=[-7.0, -7.0], gives=[-4.0, 2.0]),
            Case("n[0] = n[0] // n[1]", n=[1, 0], code="H0402"),
            Case("v = wp.vec2i(n[0], 7) // wp.vec2i(2, 2)\nn[0] = v.x", n=[-7], gives=[-4]),
        ],
        "`**`": [
            Case("f[0] = f[0] ** 0.5", f=[9.0], gives=[3.0]),
            Case("n[0] = n[0] ** 3", n=[-2], gives=[-8]),
            Case("n[0] = n[0] ** n[1]", n=[2, 3], code="H0201"),
        ],
        "`&` `\\|` `^` `~`": [
            Case("n[0] = n[0] & 6 | 8 ^ 1\nn[1] = ~n[1]", n=[5, 0], gives=[13, -1]),
            Case("n[0] = int((n[0] > 0) & (n[1] > 0))", n=[1, 0], gives=[0]),
            Case("v = ~(wp.vec2i(n[0], 7) & wp.vec2i(3, 2))\nn[0] = v.x", n=[5], gives=[-2]),
        ],
        "`<<` `>>`": [
            Case("n[0] = n[0] << n[2]\nn[1] = n[1] >> 1", n=[1, -3, 33], gives=[2, -2]),
            Case("n[0] = n[0] << 33", code="H0202"),
            Case("v = wp.vec2i(n[0], 7) << wp.vec2i(33, 2)\nn[0] = v.x", n=[5], gives=[10]),
            Case("v = wp.vec2i(n[0], 7) << 2", code="H0201"),
        ],
        "`<` `<=` `>` `>=` `==` `!=`": [
            Case("n[0] = int(0 <= n[0] < 4)", n=[3], gives=[1]),
            Case(
                "v = wp.vec2(f[0], 1.0)\nf[0] = float(v == wp.vec2(2.0, 1.0))", f=[2.0], gives=[1.0]
            ),
        ],
        "`and` `or` `not`": [
            Case("if n[0] and n[1] // n[0] == 2:\n    n[0] = 5", n=[0, 4], gives=[0]),
            Case("x = n[0] > 0 or n[1] > 0\nn[0] = int(not x)", n=[0, 1], gives=[0]),
            Case("x = n[0] or n[1]\nn[0] = x", n=[0, 1], code="H0201"),
        ],
        "`x if c else y`": [
            Case("n[0] = n[1] // n[0] if n[0] != 0 else 9", n=[0, 4], gives=[9]),
        ],
        "`+` `-`": [
            Case("v = wp.vec2(f[0], 1.0) - wp.vec2(1.0, 4.0)\nf[0] = v.y", f=[2.0], gives=[-3.0]),
            Case("v = wp.vec2(f[0]) + wp.vec3(1.0)\nf[0] = v.y", f=[2.0], code="H0201"),
        ],
        "`*` `/`": [
            Case("v = 3 * wp.vec2(f[0], 1.0) / 2.0\nf[0] = v.x", f=[2.0], gives=[3.0]),
            Case("q = 3 / wp.quat(f[0], 1.0, 1.0, 1.0)\nf[0] = q.x", f=[2.0], gives=[1.5]),
        ],
        "`*` `@`": [
            Case(
                "m = wp.mat22(1.0, 2.0, 3.0, f[0])\nv = m @ wp.vec2(1.0, 1.0)\nf[0] = v.y",
                f=[4.0],
                gives=[7.0],
            ),
            Case(
                "q = wp.quat(1.0, 0.0, 0.0, 0.0) * wp.quat(0.0, f[0], 0.0, 0.0)\nf[0] = q.z",
                f=[1.0],
                gives=[1.0],
            ),
        ],
    },
    "Rounding": {
        "`x * y + z`, `z - x * y`, `s += x * y`": [
            Case("f[0] = f[0] * f[0] - 1.0", f=[1.0 + 2.0**-23], gives=[2.0**-22 + 2.0**-46]),
            Case(
                "s = -1.0\ns += f[0] * f[0]\nf[0] = s",
                f=[1.0 + 2.0**-23],
                gives=[2.0**-22 + 2.0**-46],
            ),
        ],
        "`x * y - y * x`": [Case("f[0] = f[0] * f[1] - f[1] * f[0]", f=[0.1, 0.3], gives=[0.0])],
        "`p = x * y` then `p + z`": [
            Case("p = f[0] * f[0]\nf[0] = p - 1.0", f=[1.0 + 2.0**-23], gives=[2.0**-22])
        ],
        "`a[i] += x * y`": [
            Case("f[1] += f[0] * f[0]\nf[0] = f[1]", f=[1.0 + 2.0**-23, -1.0], gives=[2.0**-22])
        ],
    },
    "What is refused, and why": {
        "a variable set on one path only, types that do not merge": [
            Case("if n[0] > 0:\n    x = 1\nn[0] = x", code="H0302"),
            Case("x = wp.vec2()\nif n[0] > 0:\n    x = 1.0\nf[0] = wp.length(x)", code="H0204"),
        ],
        "`/` of two integers": [Case("n[0] = n[0] / n[1]", code="H0108")],
        "a literal that does not fit, a narrowing that is not written": [
            Case("n[0] = n[0] + 3000000000", code="H0202"),
            Case("n[0] = f[0]", code="H0205"),
        ],
        "`x and y` of numbers as a value": [Case("n[0] = n[0] and n[1]", code="H0201")],
        "recursion": [
            Case(
                """
                @wp.func
                def down(x: int) -> int:
                    return down(x - 1) if x > 0 else 0

                @wp.kernel
                def k(f: wp.array(dtype=float), n: wp.array(dtype=int)):
                    n[0] = down(n[0])
                """,
                code="H0103",
                whole=True,
            )
        ],
        "`*args`, `**kwargs`, `try`, `with`, `raise`, `global`, `del`, `import`, `match`, `yield`, "
        "`async`": [
            Case("try:\n    n[0] = 1\nexcept ValueError:\n    pass", code="H0101"),
            Case("with f:\n    n[0] = 1", code="H0101"),
            Case("raise ValueError", code="H0101"),
            Case("global x\nx = 1", code="H0101"),
            Case("del n", code="H0101"),
            Case("import math", code="H0101"),
            Case("match n[0]:\n    case 1:\n        n[0] = 2", code="H0101"),
            Case("yield n[0]", code="H0101"),
            Case(
                """
                @wp.kernel
                def k(f: wp.array(dtype=float), n: wp.array(dtype=int), *args: int):
                    n[0] = 1
                """,
                code="H0104",
                whole=True,
            ),
        ],
        "`lambda`, comprehensions, lists, dicts, sets, f-strings, `:=`": [
            Case("x = lambda y: y\nn[0] = x(1)", code="H0101"),
            Case("x = [y for y in range(3)]", code="H0101"),
            Case("x = [1, 2]", code="H0101"),
            Case("x = {1: 2}", code="H0101"),
            Case("x = {1, 2}", code="H0101"),
            Case("x = f'{n[0]}'", code="H0101"),
            Case("if (x := n[0]) > 1:\n    n[0] = x", code="H0101"),
        ],
        "nested `def` and `class`": [
            Case("def g(x):\n    return x", code="H0101"),
            Case("class C:\n    pass", code="H0101"),
        ],
        "`else` of a loop": [
            Case("for i in range(3):\n    n[0] = i\nelse:\n    n[0] = 9", code="H0101"),
        ],
        "`eval`, `exec`, `getattr`, `isinstance`, any other Python function": [
            Case("n[0] = eval('1')", code="H0102"),
            Case("n[0] = getattr(n, 'size')", code="H0102"),
            Case("n[0] = sum(n)", code="H0102"),
        ],
        "arrays that depend on a branch, or change in a loop": [
            Case("a = f\nif n[0] > 0:\n    a = f[1:]\na[0] = 1.0", f=[0.0, 0.0], code="H0204"),
        ],
        "a slice with runtime bounds of a vector or matrix": [
            Case("v = wp.vec3(f[0])\nw = v[0 : n[0]]\nf[0] = w[0]", code="H0209"),
        ],
    },
    "Differences to NVIDIA Warp": {
        "int `/` int": [Case("n[0] = n[0] / 2", code="H0108")],
        "`%` of negative numbers": [Case("n[0] = n[0] % 3", n=[-1], gives=[2])],
        "int with float operand": [Case("f[0] = n[0] * f[0]", n=[3], f=[0.5], gives=[1.5])],
        "an index out of bounds": [Case("n[n[0]] = 1", n=[100], code="H0401")],
        "a runtime index of -1": [Case("n[n[0]] = 1", n=[-1], code="H0401")],
        "a variable set on one path only": [
            Case("if n[0] > 0:\n    x = 1\nn[0] = x", code="H0302"),
        ],
        "`x: wp.float32 = 0.0` in a kernel": [
            Case("x: wp.float64 = 1.0\nf[0] = float(x + 2.0**-40 - 1.0)", gives=[2.0**-40]),
        ],
        "one bad kernel in a file": [
            Case(
                """
                @wp.kernel
                def bad(n: wp.array(dtype=int)):
                    n[0] = nothing

                @wp.kernel
                def k(f: wp.array(dtype=float), n: wp.array(dtype=int)):
                    n[0] = 1
                """,
                n=[0],
                gives=[1],
                whole=True,
            )
        ],
        "an array in a struct in an array": [
            Case(
                """
                @wp.struct
                class Bag:
                    data: wp.array(dtype=float)

                bags = wp.zeros(2, dtype=Bag)
                """,
                code="H0208",
                whole=True,
            )
        ],
        "a shift by more than the width": [
            Case("n[0] = n[0] << n[1]", n=[1, 33], gives=[2]),
            Case("n[0] = n[0] << 33", code="H0202"),
            Case("v = wp.vec2i(n[0], 7) << wp.vec2i(33, 2)\nn[0] = v.x", n=[5], gives=[10]),
            Case("v = wp.vec2i(n[0], 7) << 2", code="H0201"),
        ],
    },
}

# Rows about something that no kernel shows.
NO_CASES = {
    "builtins": "`heald builtins` and the site show their source",
    "points of a hash grid query": "tests/unit/geometry/test_hash_grid.py",
}
