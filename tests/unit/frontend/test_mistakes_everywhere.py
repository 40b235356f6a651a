"""A mistake is reported wherever it stands: no statement is ever left out in silence."""

from __future__ import annotations

import textwrap

import pytest
from meaning.language import lower_text

from heald.diagnostics import CompileError

FUNCTIONS = """
@wp.struct
class S:
    a: float


@wp.func
def f(x: float):
    return x


@wp.func
def wrong(x: float):
    return x + nowhere


@wp.func
def wrong_in_a_loop(x: float):
    for i in range(3):
        x = x + nowhere
    return x
"""

BEFORE = """
x = 0.0
y = 1.0
v = wp.vec3()
s = S()
"""

STATEMENTS = (
    "x = nowhere",
    "x += nowhere",
    "x = x + nowhere",
    "x: float = nowhere",
    "x, y = nowhere",
    "x = f(nowhere)",
    "x = wrong(x)",
    "x = wrong_in_a_loop(x)",
    "x = x if nowhere else 1.0",
    "x = y + wp.length(nowhere)",
    "w = nowhere\na[0] = w",
    "a[nowhere] = 1.0",
    "a[0] = nowhere",
    "a[0] += nowhere",
    "v[0] = nowhere",
    "v.x = nowhere",
    "v = v + nowhere",
    "s.a = nowhere",
    "nowhere()",
    "assert nowhere",
    "print(nowhere)",
    "wp.atomic_add(a, nowhere, 1.0)",
    "if nowhere:\n    x = 1.0",
    "while nowhere:\n    x = 1.0",
    "for q in range(nowhere):\n    x = 1.0",
)

PLACES = (
    "STATEMENT",
    "for i in range(n):\n    STATEMENT",
    "while n > 3:\n    STATEMENT",
    "if n > 3:\n    STATEMENT",
    "if n > 3:\n    pass\nelse:\n    STATEMENT",
    "for i in range(n):\n    if i > 2:\n        STATEMENT\n        continue\n    x += 1.0",
    "for i in range(n):\n    if i > 2:\n        STATEMENT\n        break\n    x += 1.0",
    "for i in range(n):\n    for j in range(i):\n        STATEMENT\n    if x > 3.0:\n        break",
    "for i in wp.static(range(3)):\n    STATEMENT",
    "for i in wp.static(range(3)):\n    if a[i] > 1.0:\n        STATEMENT\n        break",
    "while True:\n    STATEMENT\n    if x > 2.0:\n        break",
    "z = 0\nfor i in range(n):\n    STATEMENT\n    z = z + 0.5",
    "if n > 3:\n    for i in range(n):\n        STATEMENT\nelse:\n    x = 2.0",
)

KERNEL = f"{FUNCTIONS}\n\ndef k(a: wp.array(float), n: int):\nBODY\n    a[0] = x + y + v[0] + s.a\n"

FUNCTION = (
    f"{FUNCTIONS}\n\n@wp.func\ndef g(a: wp.array(float), n: int):\nBODY\n    if n > 5:\n"
    "        return 2\n    return x\n\n\ndef k(a: wp.array(float), n: int):\n"
    "    for i in range(n):\n        a[i] = g(a, n)\n"
)


@pytest.mark.parametrize("whole", [KERNEL, FUNCTION], ids=["kernel", "function"])
@pytest.mark.parametrize("place", PLACES)
def test_every_statement_in_every_place(place: str, whole: str) -> None:
    silent = []
    for statement in STATEMENTS:
        (line,) = (row for row in place.splitlines() if "STATEMENT" in row)
        margin = " " * (len(line) - len(line.lstrip()))
        inside = textwrap.indent(statement, margin).lstrip()
        body = textwrap.indent(BEFORE + place.replace("STATEMENT", inside), "    ")
        try:
            lower_text(whole.replace("BODY", body), "mistake")
        except CompileError as error:
            if "name 'nowhere' is not defined" in str(error):
                continue
        silent.append(statement)
    assert silent == []
