"""Control flow and names: short circuit, single evaluation, merges, loops, exits, compile time."""

import itertools

import numpy as np
import pytest
from unit.frontend.harness import cell, count_ops, launch, lower, pointed_at, refuse, refuse_text

import heald as wp

# ------------------------------------------------------- conditions, against Python's own answers

CONDITIONS = [
    "p(1) and p(2)",
    "p(1) or p(2)",
    "p(1) and p(2) or p(3)",
    "p(1) or p(2) and p(3)",
    "not p(1) and not (p(2) or p(3))",
    "p(1) and (p(2) or p(3)) and p(4)",
    "p(1) < p(2)",
    "p(1) <= p(2) < p(3)",
    "p(1) == p(2) == p(3) == p(4)",
    "p(1) < p(2) > p(3) != p(4)",
    "(p(1) if p(2) else p(3)) and p(4)",
    "p(1) if p(2) and p(3) else p(4)",
    "(p(1) < p(2)) == (p(3) < p(4))",
    "1 < p(1) < 3 <= p(2)",
]

KERNEL = """
@wp.func
def p(log: wp.array(dtype=int), given: wp.array(dtype=int), k: int):
    log[0] = log[0] * 10 + k
    return given[k - 1]

@wp.kernel
def k(log: wp.array(dtype=int), given: wp.array(dtype=int), truth: wp.array(dtype=int)):
    if {condition}:
        truth[0] = 1
    while {condition}:
        truth[1] = 1
        break
    truth[2] = 1 if ({condition}) else 0
    assert ({condition}) or True
"""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_evaluate_what_python_evaluates_in_its_order(condition: str) -> None:
    called = condition.replace("p(", "p(log, given, ")
    kernel = lower(cell(KERNEL.format(condition=called))["k"])
    python = compile(condition, "<condition>", "eval")
    for given in itertools.product((0, 1, 2), repeat=4):
        calls: list[int] = []

        def p(k: int, given: tuple[int, ...] = given, calls: list[int] = calls) -> int:
            calls.append(k)
            return given[k - 1]

        expected = bool(eval(python, {"p": p}))
        log, truth = np.zeros(1, np.int32), np.zeros(3, np.int32)
        outcome = launch(kernel, 1, log, np.array(given, np.int32), truth)
        assert not outcome.faults
        assert truth.tolist() == [expected] * 3, given
        once = int("".join(map(str, calls)))
        repeated = sum(once * 10 ** (len(calls) * k) for k in range(4))
        assert log[0] == (repeated + 2**31) % 2**32 - 2**31, given  # the log wraps


@wp.kernel
def harmless(a: wp.array(dtype=float), x: float, n: int):
    a[0] = x + 1.0 if n > 0 else x - 1.0
    if (n > 0 and x > 0.0) or n < -5:
        a[1] = 1.0


def test_short_harmless_sides_become_selects() -> None:
    wir = lower(harmless)
    assert count_ops(wir, "if") == 1
    assert count_ops(wir, "select") == 3


@wp.kernel
def guarded(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    if n < len(a) and a[n] > 0.0:
        b[0] = 1.0
    b[1] = a[n] if n < len(a) else -1.0
    if n != 0 and 10 // n > 2:
        b[2] = 1.0


def test_loads_and_divisions_are_not_executed_where_python_would_not() -> None:
    for n in (0, 2, 3, 4):
        b = np.zeros(3, np.float32)
        assert not launch(guarded, 1, np.ones(3, np.float32), b, n).faults
        expected = [n < 3, 1.0 if n < 3 else -1.0, n != 0 and 10 // n > 2]
        assert b.tolist() == expected


@pytest.mark.parametrize(
    ("statement", "code", "under"),
    [
        ("x = n and 5", "H0201", "n"),
        ("x = n > 0 or f", "H0201", "f"),
        ("x = 1.0 if f > 0.0 else v", "H0204", "1.0 if f > 0.0 else v"),
        ("x = a if n else a", "H0204", "a if n else a"),
        ("x = n in (1, 2)", "H0101", "n in (1, 2)"),
        ("x = n is not m is n", "H0101", "n is not m is n"),
        ("x = n < m is m", "H0101", "n < m is m"),
        ("x = n is m", "H0101", "n is m"),
        ("x = v < v", "H0201", "v < v"),
        ("x = a == a", "H0201", "a == a"),
        ("x = not v", "H0201", "v"),
        ("x = v[0] < 'a'", "H0107", "'a'"),
    ],
)
def test_conditions_that_cannot_be(statement: str, code: str, under: str) -> None:
    found = refuse_text(
        f"""
        @wp.kernel
        def k(a: wp.array(dtype=float), v: wp.vec3, f: float, n: int, m: int):
            {statement}
        """
    )
    assert (found.code, pointed_at(found)) == (code, under)


# ------------------------------------------------------------------------------------- names


@wp.kernel
def names(a: wp.array(dtype=float), n: int):
    x, y = 1.0, 2.0
    x, y = y, x
    a[0], a[1] = x, y
    p = q = x + y
    p += 1.0
    a[2] = p * 10.0 + q
    z: wp.float64 = 1
    z = z + n
    a[3] = float(z)
    flag = n > 2
    if flag:  # noqa: SIM108
        w = 1
    else:
        w = 0.5  # int32 and float32 merge
    a[4] = w
    if n > 100:
        return
    only = 5.0
    a[5] = only  # set on every path that comes here
    n = n + 1  # parameters are locals
    a[6] = float(n)
    (s, t), u = (1.0, 2.0), wp.vec2(3.0, 4.0)
    c, d = u
    a[7] = s + 2.0 * t + 4.0 * c + 8.0 * d
    rows, cols = wp.zeros(shape=(2, 3), dtype=float).shape
    a[8] = float(rows * 10 + cols)


def test_assignments() -> None:
    a = np.zeros(9, np.float32)
    launch(names, 1, a, 3)
    assert a.tolist() == [2.0, 1.0, 43.0, 4.0, 1.0, 5.0, 4.0, 49.0, 23.0]


@pytest.mark.parametrize(
    ("body", "code", "under", "hint"),
    [
        ("x = y", "H0301", "y", ""),
        ("x = rangee(a)", "H0301", "rangee", "did you mean 'range'"),
        ("x = n + 1\nx = x + wp.sinn(f)", "H0303", "wp.sinn", "did you mean 'sin'"),
        ("if n > 0:\n    x = 1\na[0] = float(x)", "H0302", "x", "insert `x = 0` before line"),
        ("if n > 0:\n    x = wp.vec3()\nf = x[0]", "H0302", "x", "insert `x = wp.vec3()` before"),
        (
            "for i in range(n):\n    x = i\na[0] = float(x)",
            "H0302",
            "x",
            "insert `x = 0` before line 3",
        ),
        (
            "for i in range(n):\n    pass\na[0] = float(i)",
            "H0302",
            "i",
            "insert `i = 0` before line 3",
        ),
        ("while n > 3:\n    x = 1\n    n -= 1\na[0] = float(x)", "H0302", "x", "insert `x"),
        (
            "if n > 0:\n    x = 1\nelse:\n    x = wp.vec3()\ny = x",
            "H0204",
            "x",
            "one type on every",
        ),
        ("if n > 0:\n    b = a\nelse:\n    b = c\nf = b[0]", "H0204", "b", "cannot depend on a br"),
        (
            "x = 1\nfor i in range(n):\n    x = wp.vec3()\ny = x",
            "H0204",
            "x",
            "one type before the loop",
        ),
        ("x: wp.array(dtype=float) = a", "H0207", "wp.array(dtype=float)", "x: wp.float32 = 0.0"),
        ("x: wp.Float = 1.0", "H0207", "wp.Float", "x: wp.float32 = 0.0"),
        ("a[0]: float = 1.0", "H0109", "a[0]", ""),
        ("x: 'no type' = 1.0", "H0207", "'no type'", "x: wp.float32 = 0.0"),
        ("x: missing = 1.0", "H0207", "missing", ""),
        ("x: 'int' = n", "H0207", "'int'", "x: wp.float32 = 0.0"),
        ("x: int = f", "H0205", "f", "wp.int32(...)"),
        ("x: int = 1\nx = f", "H0205", "f", "wp.int32(...)"),
        ("x: int\na[0] = float(x)", "H0302", "x", "insert `x = ...` above"),
        ("x += 1", "H0302", "x", "insert `x = ...` above"),
        ("x = 3000000000", "H0202", "3000000000", "wp.uint32(3000000000)"),
        ("x = wp + 1", "H0107", "wp", ""),
    ],
)
def test_names_that_cannot_be(body: str, code: str, under: str, hint: str) -> None:
    text = (
        "@wp.kernel\ndef k(a: wp.array(dtype=float), c: wp.array(dtype=float), n: int, f: float):\n"
    )
    found = refuse_text(text + "".join(f"    {line}\n" for line in body.splitlines()))
    assert (found.code, pointed_at(found)) == (code, under)
    assert hint in found.hint


@wp.kernel
def scratch(a: wp.array(dtype=float), n: int):
    t = 1.0
    a[0] = t
    for i in range(n):
        t = wp.vec2(float(i), 2.0)  # another meaning, which no iteration hands on
        a[1] += t[0] * t[1]
    while n > 0:
        t = n
        n -= 1
        if t == 2:
            break
        a[2] += float(t)


def test_a_scratch_name_may_have_another_type_in_a_loop() -> None:
    a = np.zeros(3, np.float32)
    launch(scratch, 1, a, 4)
    assert a.tolist() == [1.0, 12.0, 7.0]


def test_a_name_that_failed_is_not_complained_about_again() -> None:
    kernels = cell(
        """
        @wp.kernel
        def k(a: wp.array(dtype=float), n: int):
            x = undefined
            y = x + 1.0
            a[0] = y
            z = also_undefined
        """
    )
    assert [pointed_at(d) for d in refuse(kernels["k"])] == ["undefined", "also_undefined"]


def test_at_most_ten_mistakes_are_reported() -> None:
    body = "".join(f"    x{k} = missing{k}\n" for k in range(15))
    found = refuse(cell(f"@wp.kernel\ndef k():\n{body}")["k"])
    assert [pointed_at(d) for d in found] == [f"missing{k}" for k in range(10)]


def test_mistakes_in_a_loop_that_is_lowered_twice_are_reported_once() -> None:
    kernels = cell(
        """
        @wp.kernel
        def k(a: wp.array(dtype=float), n: int):
            s = 0
            for i in range(n):
                s = s + 0.5
                t = undefined
                u = s / 2
            a[0] = s
        """
    )
    assert [pointed_at(d) for d in refuse(kernels["k"])] == ["undefined"]


# ------------------------------------------------------------------------------------- loops


@wp.func
def search(a: wp.array(dtype=int), wanted: int):
    for i in range(len(a)):
        if a[i] == wanted:
            return i
        for j in range(i):
            if a[j] == -1:
                return -2
    return -1


@wp.kernel
def loops(out: wp.array(dtype=int), a: wp.array(dtype=int), lo: int, hi: int, step: int):
    total = 0
    for i in range(lo, hi, step):
        if i == 7:
            continue
        if i > 20:
            break
        total += i
    out[0] = total
    i = -100
    for i in range(lo, hi, step):  # noqa: B007 - its last value is read
        pass
    out[1] = i
    for k in range(3):  # noqa: B007
        pass
    out[2] = k
    n = 0
    while True:
        n += 1
        if n % 2 == 0:
            continue
        if n > 8:
            break
    out[3] = n
    while n > 0 and out[4] < 100:
        out[4] += n
        n -= 1
    out[5] = search(a, 3)
    out[6] = search(a, 4)
    depth = 0
    for p in range(3):
        for q in range(3):
            if q > p:
                break
            depth = depth * 2 + 1
    out[7] = depth


@pytest.mark.parametrize(
    ("lo", "hi", "step"), [(0, 10, 1), (5, 30, 2), (10, -5, -3), (3, 3, 1), (5, 0, 1), (0, 5, -1)]
)
def test_loops_run_as_in_python(lo: int, hi: int, step: int) -> None:
    out, a = np.zeros(8, np.int32), np.array([1, 3, 5], np.int32)
    assert not launch(loops, 1, out, a, lo, hi, step).faults
    total = 0
    for i in range(lo, hi, step):
        if i == 7:
            continue
        if i > 20:
            break
        total += i
    last = list(range(lo, hi, step))[-1:] or [-100]
    assert out.tolist() == [total, *last, 2, 9, 45, 1, -1, 2**6 - 1]


def test_a_step_of_zero_is_a_fault() -> None:
    out, a = np.zeros(8, np.int32), np.zeros(1, np.int32)
    (fault,) = launch(loops, 1, out, a, 0, 5, 0).faults
    assert fault.kind.name == "STEP"


@pytest.mark.parametrize(
    ("body", "code", "under"),
    [
        ("for i in range(f):\n    pass", "H0201", "f"),
        ("for i in range(0, n, 0.5):\n    pass", "H0201", "0.5"),
        ("for i in range():\n    pass", "H0305", "range()"),
        ("for i in range(1, 2, 3, 4):\n    pass", "H0305", "range(1, 2, 3, 4)"),
        ("for i in range(stop=3):\n    pass", "H0305", "range(stop=3)"),
        ("for i in a:\n    pass", "H0101", "a"),
        ("for i in v:\n    pass", "H0101", "v"),
        ("for i in 5:\n    pass", "H0101", "5"),
        ("for i, j in range(3):\n    pass", "H0109", "i, j"),
        ("for a[0] in range(3):\n    pass", "H0109", "a[0]"),
        ("for i in range(3):\n    pass\nelse:\n    n = 1", "H0101", "n = 1"),
        ("while n > 0:\n    n -= 1\nelse:\n    n = 1", "H0101", "n = 1"),
        ("while v:\n    pass", "H0201", "v"),
        ("for i in wp.static(range(5000)):\n    pass", "H0101", "wp.static(range(5000))"),
        ("return n", "H0105", "return n"),
        ("print(n) if n else print(f)", "H0107", "print(n)"),
    ],
)
def test_loops_and_exits_that_cannot_be(body: str, code: str, under: str) -> None:
    text = "@wp.kernel\ndef k(a: wp.array(dtype=float), v: wp.vec3, n: int, f: float):\n"
    found = refuse_text(text + "".join(f"    {line}\n" for line in body.splitlines()))
    assert (found.code, pointed_at(found)) == (code, under)


# ------------------------------------------------------------------------------------- compile time

COUNT = 3
FACTORS = (2.0, 3.0, 5.0)
NAMED = {"gain": 4.0}


@wp.kernel
def known_early(a: wp.array(dtype=float), n: wp.array(dtype=int)):
    for k in wp.static(range(COUNT)):
        a[0] = a[0] * FACTORS[k]
    for f in FACTORS:
        a[1] += f
    a[2] = wp.static(sum(x * x for x in FACTORS)) + wp.static(NAMED["gain"])
    v = wp.vec3(1.0, 2.0, 3.0)
    for k in wp.static(range(len(v))):
        n[k] = int(v[k])
    if wp.static(COUNT > 2):
        n[3] = 7
    else:
        n[3] = undefined_name  # noqa: F821 - never compiled
    n[4] = wp.static(len(FACTORS)) + len(FACTORS)


@wp.kernel
def left_early(n: wp.array(dtype=int)):
    for k in wp.static(range(1000)):
        if wp.static(k == COUNT):
            break
        if wp.static(k == 1):
            continue
        n[k] = 7


def test_unrolled_loops_that_are_left_while_compiling_leave_no_loop() -> None:
    wir = lower(left_early)
    assert count_ops(wir, "for", "while", "if") == 0
    assert count_ops(wir, "store") == COUNT - 1


def test_static_expressions_are_evaluated_while_compiling() -> None:
    wir = lower(known_early)
    assert count_ops(wir, "for", "if") == 0
    a, n = np.ones(3, np.float32), np.zeros(5, np.int32)
    launch(wir, 1, a, n)
    assert a.tolist() == [30.0, 11.0, 42.0]
    assert n.tolist() == [1, 2, 3, 7, 6]


@pytest.mark.parametrize(
    ("expression", "code", "under"),
    [
        ("wp.static(n + 1)", "H0107", "n + 1"),
        ("wp.static(1 // 0)", "H0107", "1 // 0"),
        ("wp.static(missing)", "H0107", "missing"),
        ("wp.static(1, 2)", "H0305", "wp.static(1, 2)"),
        ("wp.static({'a': 1})", "H0304", "wp.static({'a': 1})"),
        ("wp.static(1j)", "H0304", "wp.static(1j)"),
    ],
)
def test_static_expressions_that_cannot_be(expression: str, code: str, under: str) -> None:
    found = refuse_text(f"@wp.kernel\ndef k(n: int):\n    x = {expression} + 1\n")
    assert (found.code, pointed_at(found)) == (code, under)


# ------------------------------------------------------------------------ refused by the grammar


@pytest.mark.parametrize(
    ("body", "message", "under"),
    [
        ("try:\n    pass\nexcept ValueError:\n    pass", "'try'", "try"),
        ("with open('x'):\n    pass", "'with'", "with"),
        ("global G\nG = 1", "'global'", "global G"),
        ("nonlocal_ = [i for i in range(3)]", "a list comprehension", "[i for i in range(3)]"),
        ("x = {i for i in range(3)}", "a set comprehension", "{i for i in range(3)}"),
        ("x = {i: i for i in range(3)}", "a dict comprehension", "{i: i for i in range(3)}"),
        ("x = (i for i in range(3))", "a generator expression", "(i for i in range(3))"),
        ("x = lambda y: y", "'lambda'", "lambda y: y"),
        ("x = {}", "'dict'", "{}"),
        ("x = {1}", "'set'", "{1}"),
        ("x = [1]", "'list'", "[1]"),
        ("x = f'{n}'", "an f-string", "f'{n}'"),
        ("x = (y := 1)", "':='", "y := 1"),
        ("x = b'a'", "a bytes literal", "b'a'"),
        ("x = 1j", "a complex literal", "1j"),
        ("x = a[...]", "'...'", "..."),
        ("yield n", "'yield'", "yield n"),
        ("x = yield from n", "'yield from'", "yield from n"),
        ("def g():\n    pass", "'def'", "def"),
        ("class C:\n    pass", "'class'", "class"),
        ("raise ValueError", "'raise'", "raise ValueError"),
        ("del n", "'del'", "del n"),
        ("import os", "'import'", "import os"),
        ("from os import path", "'import'", "from os import path"),
        ("match n:\n    case 1:\n        pass", "'match'", "match"),
        ("try:\n    pass\nexcept* ValueError:\n    pass", "'try'", "try"),
    ],
)
def test_syntax_outside_the_language(body: str, message: str, under: str) -> None:
    text = "@wp.kernel\ndef k(a: wp.array(dtype=float), n: int):\n"
    found = refuse_text(text + "".join(f"    {line}\n" for line in body.splitlines()))
    assert (found.code, pointed_at(found)) == ("H0101", under)
    assert found.message == f"{message} is not part of the kernel language"
    assert found.hint


@pytest.mark.parametrize(
    ("call", "under"),
    [
        ("eval('1')", "eval('1')"),
        ("exec('x = 1')", "exec('x = 1')"),
        ("getattr(a, 'shape')", "getattr(a, 'shape')"),
        ("setattr(a, 'x', 1)", "setattr(a, 'x', 1)"),
        ("isinstance(n, int)", "isinstance(n, int)"),
        ("sum(a)", "sum(a)"),
        ("round(1.5)", "round(1.5)"),
        ("math.floor(1.5)", "math.floor(1.5)"),
        ("sorted(a)", "sorted(a)"),
        ("str(n)", "str(n)"),
        ("open('x')", "open('x')"),
    ],
)
def test_python_calls_that_kernels_do_not_have(call: str, under: str) -> None:
    text = f"import math\n@wp.kernel\ndef k(a: wp.array(dtype=float), n: int):\n    x = {call}\n"
    found = refuse_text(text)
    assert (found.code, pointed_at(found)) == ("H0102", under)
    assert found.message == f"Unsupported function call: {call.partition('(')[0]}"
    assert found.hint


@pytest.mark.parametrize(
    ("signature", "code", "under"),
    [
        ("*args", "H0104", "args"),
        ("**kwargs", "H0104", "kwargs"),
        ("x", "H0207", "x"),
        ("x: 'no such type'", "H0207", "'no such type'"),
        ("x: [1, 2]", "H0207", "x: [1, 2]"),
        ("x: str", "H0207", "x: str"),
    ],
)
def test_parameters_that_cannot_be(signature: str, code: str, under: str) -> None:
    found = refuse_text(f"@wp.kernel\ndef k({signature}):\n    pass\n")
    assert (found.code, pointed_at(found)) == (code, under)
