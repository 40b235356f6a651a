"""Calls: overloads, generics, defaults, keywords, inlining, and what calls refuse."""

import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from unit.frontend.harness import cell, count_ops, launch, lower, pointed_at, refuse, refuse_text

import heald as wp
from heald.types import Array, f32, f64, i32, i64

Vec5 = wp.types.vector(length=5, dtype=wp.float64)

# ------------------------------------------------------------------------------------ overloads


@wp.func
def kind(x: wp.float32):
    return 1


@wp.func
def kind(x: wp.float64):  # noqa: F811
    return 2


@wp.func
def kind(x: int):  # noqa: F811
    return 3


@wp.func
def kind(x: wp.vec3):  # noqa: F811
    return 4


@wp.func
def kind(x: wp.array(dtype=float)):  # noqa: F811
    return 5


@wp.func
def kind(x: wp.Any, y: int):  # noqa: F811
    return 6


@wp.kernel
def choose(n: wp.array(dtype=int), a: wp.array(dtype=float)):
    n[0] = kind(wp.float32(1.0))
    n[1] = kind(wp.float64(1.0))
    n[2] = kind(1)
    n[3] = kind(1.0)
    n[4] = kind(wp.vec3())
    n[5] = kind(a)
    n[6] = kind(a, 1)
    n[7] = kind(wp.int8(1))  # widens: int32 and both floats would do, the first that is cheapest
    n[8] = kind(wp.float16(1.0))
    n[9] = kind(wp.zeros(shape=2, dtype=float))


def test_the_overload_with_the_fewest_conversions_is_taken() -> None:
    n = np.zeros(10, np.int32)
    launch(choose, 1, n, np.zeros(1, np.float32))
    assert n.tolist() == [1, 2, 3, 1, 4, 5, 6, 1, 1, 5]


@wp.func
def order(a: float, b: float = 2.0, *, c: float = 3.0):
    return a + 10.0 * b + 100.0 * c


@wp.func
def first(a: float, b: float, /):
    return a - b


@wp.kernel
def defaults(a: wp.array(dtype=float)):
    a[0] = order(1.0)
    a[1] = order(1.0, 5.0)
    a[2] = order(1.0, c=7.0)
    a[3] = order(c=1.0, a=2.0, b=3.0)
    pair = (1.0, 4.0)
    a[4] = order(*pair)
    a[5] = first(3.0, 1.0)


def test_defaults_and_keywords() -> None:
    a = np.zeros(6, np.float32)
    launch(defaults, 1, a)
    assert a.tolist() == [321.0, 351.0, 721.0, 132.0, 341.0, 2.0]


@pytest.mark.parametrize(
    ("call", "code", "message", "under"),
    [
        ("order()", "H0305", "'order' misses 'a'", "order()"),
        ("order(1.0, 2.0, 3.0)", "H0305", "takes 2 arguments by position, not 3", "3.0"),
        ("order(1.0, a=2.0)", "H0305", "is given 'a' twice", "2.0"),
        ("order(1.0, bb=2.0)", "H0305", "has no parameter 'bb'", "2.0"),
        ("first(a=1.0, b=2.0)", "H0305", "has no parameter 'a'", "1.0"),
        ("order(d)", "H0203", "takes float32 as 'a', not float64", "d"),
        ("order(1.0, b=v)", "H0203", "takes float32 as 'b', not vec3", "v"),
        ("order(1e300)", "H0203", "takes float32 as 'a', not the literal 1e+300", "1e300"),
        ("order(order)", "H0203", "takes float32 as 'a', not the function 'order'", "order"),
        ("wp.sqrt(w)", "H0203", "'sqrt' does not take (int64)", "wp.sqrt(w)"),
        ("wp.sqrt(wp.sin)", "H0203", "does not take (the function 'sin')", "wp.sqrt(wp.sin)"),
        ("order(**1)", "H0104", "'**' in a call", "1"),
        ("order(*v)", "H0104", "only a tuple known at compile time", "*v"),
        ("v(1)", "H0102", "vec3 cannot be called", "v"),
        ("plain(1.0)", "H0102", "Unsupported function call: plain", "plain(1.0)"),
        (
            "os.path.join('a', 'b')",
            "H0102",
            "function call: os.path.join",
            "os.path.join('a', 'b')",
        ),
        ("Plain()", "H0102", "Unsupported function call: Plain", "Plain()"),
    ],
)
def test_calls_that_do_not_fit(call: str, code: str, message: str, under: str) -> None:
    def plain(x: float) -> float:
        return x

    class Plain:
        pass

    found = refuse_text(
        f"""
        @wp.kernel
        def k(a: wp.array(dtype=float), d: wp.float64, v: wp.vec3, w: wp.int64):
            a[0] = {call}
        """,
        order=order,
        first=first,
        os=os,
        plain=plain,
        Plain=Plain,
    )
    assert (found.code, pointed_at(found)) == (code, under)
    assert message in found.message


def test_hints_name_near_misses_and_casts() -> None:
    text = """
        @wp.func
        def scale(value: float, factor: float):
            return value * factor

        @wp.kernel
        def k(a: wp.array(dtype=float), w: wp.int64):
            a[0] = {}
        """
    assert refuse_text(text.format("scale(1.0, facter=2.0)")).hint == "did you mean 'factor'?"
    cast = refuse_text(text.format("scale(wp.float64(1.0), 2.0)"))
    assert cast.hint == "write wp.float32(...) if the conversion is meant"
    assert refuse_text(text.format("wp.sqrt(w)")).hint == "write float(...) around an integer"
    assert cast.notes[0].text == "it is scale(value: float32, factor: float32)"


# ------------------------------------------------------------------------------------- generics


@wp.func
def blend(x: wp.Float, y: wp.Float):
    return (x + y) / 2.0


@wp.func
def anything(x: wp.Any):
    return x + x


@wp.func
def of_vector(v: wp.types.vector(length=wp.Any, dtype=wp.Float), s: wp.Float):
    return v * s


@wp.kernel
def generic(a: wp.array(dtype=wp.Any), b: wp.array(dtype=wp.Any)):
    a[0] = blend(a[0], 3)
    b[0] = anything(b[0])


def test_generic_kernels_are_lowered_for_the_types_given() -> None:
    wir = lower(generic, [Array(f64, 1), Array(i64, 1)])
    a, b = np.array([0.1]), np.array([2**40])
    launch(wir, 1, a, b)
    assert (a[0], b[0]) == ((0.1 + 3) / 2, 2**41)
    half = lower(generic, [Array(f32, 1), Array(i32, 1)])
    assert [p.type for p in half.params] == [Array(f32, 1), Array(i32, 1)]


@wp.kernel
def of_wide_vectors(a: wp.array(dtype=Vec5)):
    a[0] = of_vector(a[0], 0.1)  # the literal takes the component type


def test_literals_take_the_component_type_of_a_generic_vector() -> None:
    a = np.ones((1, 5))
    launch(of_wide_vectors, 1, a.view())
    assert a[0, 0] == 0.1


def test_type_classes_bind_once_in_a_signature() -> None:
    found = refuse_text(
        """
        @wp.func
        def both(x: wp.Int, y: wp.Int):
            return x + y

        @wp.kernel
        def k(n: wp.array(dtype=int), u: wp.uint32):
            n[0] = both(n[0], u)
        """
    )
    assert (found.code, pointed_at(found)) == ("H0203", "both(n[0], u)")


# --------------------------------------------------------------------------- inlining, several


@wp.func
def sums(x: float, y: float):
    return x + y, x - y


@wp.func
def early(n: int):
    if n < 0:
        return -1
    for i in range(n):
        if i * i >= n:
            return i
    return 1000


@wp.func
def widening(n: int):
    if n > 2:
        return n
    return 0.5


@wp.func
def nothing(a: wp.array(dtype=float)):
    a[3] = 9.0


@wp.kernel
def results(a: wp.array(dtype=float), n: wp.array(dtype=int)):
    p, q = sums(5.0, 3.0)
    a[0] = p
    a[1] = q
    a[2] = sums(1.0, 2.0)[1]
    nothing(a)
    for k in range(4):
        n[k] = early(k * 5 - 5)
    a[4] = widening(3)
    a[5] = widening(2)


def test_functions_return_several_values_early_and_widened() -> None:
    a, n = np.zeros(6, np.float32), np.zeros(4, np.int32)
    launch(results, 1, a, n)
    assert a.tolist() == [8.0, 2.0, -1.0, 9.0, 3.0, 0.5]
    assert n.tolist() == [-1, 1000, 3, 4]


def test_a_mistake_in_a_function_is_reported_once_with_its_call() -> None:
    kernels = cell(
        """
        @wp.func
        def broken(n: int):
            if n > 1:
                return undefined
            return n / 2

        @wp.kernel
        def k(a: wp.array(dtype=float), n: int):
            x = broken(n)
            a[0] = float(x)
        """
    )
    found = refuse(kernels["k"])
    assert [(d.code, pointed_at(d)) for d in found] == [("H0301", "undefined"), ("H0108", "n / 2")]
    assert found[0].span is not None
    assert str(found[0].span.inlined_at).endswith(":10:9")


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ("def f(n: int):\n    return f(n - 1)", "'f' calls itself"),
        (
            "def f(n: int):\n    return g(n)\n@wp.func\ndef g(n: int):\n    return f(n)",
            "'f' calls itself",
        ),
    ],
)
def test_recursion_is_refused(functions: str, message: str) -> None:
    text = f"@wp.func\n{functions}\n@wp.kernel\ndef k(n: wp.array(dtype=int)):\n    n[0] = f(1)\n"
    found = refuse_text(text)
    assert found.code == "H0103"
    assert message in found.message


def test_recursion_over_types_that_ends_is_a_template() -> None:
    kernels = cell(
        """
        @wp.func
        def depth(x: wp.Any):
            if type(x) is wp.float64:
                return 0
            else:
                return 1 + depth(wp.float64(x))

        @wp.kernel
        def k(n: wp.array(dtype=int)):
            n[0] = depth(1.0)
        """
    )
    n = np.zeros(1, np.int32)
    launch(kernels["k"], 1, n)
    assert n[0] == 1


# ------------------------------------------------------------------------ Python's own functions


@wp.kernel
def python_functions(a: wp.array(dtype=float), n: wp.array(dtype=int)):
    x = a[0]
    a[0] = abs(x)
    a[1] = min(x, 1.0, -3.0, x)
    a[2] = max(x, 1, 7)
    a[3] = pow(x, 2.0)
    a[4] = math.sqrt(abs(x)) + math.pi
    n[0] = len(a)
    n[1] = int(x)
    n[2] = int(bool(x))
    a[5] = wp.min(wp.vec3(3.0, 1.0, 2.0)) + wp.sqrt(n[0]) - wp.sqrt(6.0)
    n[3] = pow(n[0], 3)


def test_python_functions_mean_what_python_means() -> None:
    a, n = np.full(6, -2.5, np.float32), np.zeros(4, np.int32)
    launch(python_functions, 1, a, n)
    assert a[:4].tolist() == [2.5, -3.0, 7.0, 6.25]
    assert a[4] == np.float32(np.sqrt(np.float32(2.5)) + np.float32(math.pi))
    assert a[5] == 1.0
    assert n.tolist() == [6, -2, 1, 216]


def test_a_user_function_may_be_called_min_and_take_three() -> None:
    kernels = cell(
        """
        @wp.func
        def min(a: float, b: float, c: float):
            return a + b + c

        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[0] = min(1.0, 2.0, 4.0)
        """
    )
    a = np.zeros(1, np.float32)
    launch(kernels["k"], 1, a)
    assert a[0] == 7.0


# ------------------------------------------------------------------------------ odd parameters


@wp.func
def through(f: Callable[[float], float], x: float):
    return f(x)


@wp.func
def add_up(row: wp.array(dtype=float)):
    total = 0.0
    for i in range(len(row)):
        total += row[i]
    return total


@wp.kernel
def odd(a: wp.array(dtype=float, ndim=2), out: wp.array(dtype=float)):
    out[0] = through(wp.sqrt, 16.0)
    out[1] = add_up(a[1])
    local = wp.zeros(shape=3, dtype=float)
    local[2] = 5.0
    out[2] = add_up(local)


def test_functions_take_functions_views_and_local_arrays() -> None:
    a, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros(3, np.float32)
    launch(odd, 1, a, out)
    assert out.tolist() == [4.0, 12.0, 5.0]


def test_calls_leave_no_trace_in_the_kernel_but_their_ops() -> None:
    assert count_ops(lower(odd), "scope") == 0  # a single return at the end needs none
    assert count_ops(lower(results), "scope") == 3


def overloads_times(factor: int):
    @wp.func
    def times(x: float):
        return x * float(factor)

    @wp.func
    def times(x: int):  # noqa: F811
        return x * factor

    return times


def test_a_factory_that_runs_again_leaves_its_older_functions_alone() -> None:
    two, three = overloads_times(2), overloads_times(3)
    assert [two(5.0), two(5), three(5.0), three(5)] == [10.0, 10, 15.0, 15]


def test_a_cell_that_renames_a_parameter_replaces_the_function() -> None:
    names = {"__name__": "renaming_cell"}
    cell("@wp.func\ndef f(x: float):\n    return x\n", **names)
    again = cell("@wp.func\ndef f(y: float):\n    return -y\n", **names)
    assert again["f"](1.0) == -1.0


def test_arguments_of_operators_are_evaluated_once_and_in_order() -> None:
    kernels = cell(
        """
        @wp.func
        def next(log: wp.array(dtype=int), k: int):
            log[log[0] + 1] = k
            log[0] += 1
            return k

        @wp.kernel
        def k(log: wp.array(dtype=int), a: wp.array(dtype=int)):
            a[next(log, 0)] = next(log, 1) + next(log, 2) * next(log, 3)
            a[next(log, 1)] += next(log, 4)
            if next(log, 5) < next(log, 6) < next(log, 2) < next(log, 7):
                a[0] = 0
            x, y = next(log, 8), next(log, 9)
            p = next(log, 10) * next(log, 11) - next(log, 12)
        """
    )
    log, a = np.zeros(32, np.int32), np.zeros(4, np.int32)
    launch(kernels["k"], 1, log, a)
    # An assignment evaluates its right side first, an update its target.
    assert log[1 : log[0] + 1].tolist() == [1, 2, 3, 0, 1, 4, 5, 6, 2, 8, 9, 10, 11, 12]
    assert a.tolist() == [7, 4, 0, 0]


# ------------------------------------------------------------------------------- what they give


@wp.func
def wider(x: float) -> wp.float64:
    if x > 1.0:
        return 2
    return x


@wp.func
def two(x: float) -> tuple[float, wp.int64]:
    return int(x), 3


@wp.func
def alike(x: wp.Float) -> wp.Float:
    return x


@wp.func
def part(a: wp.array(dtype=float, ndim=2), i: int) -> wp.array(dtype=float):
    return a[i]


@wp.func
def quoted(x: float) -> "wp.vec2":
    return wp.vec2(x)


@wp.kernel
def declared(a: wp.array(dtype=float, ndim=2), d: wp.array(dtype=wp.float64)):
    x, y = two(a[0, 0])
    d[0] = wider(a[0, 0]) + wp.float64(x) + wp.float64(y) + wp.float64(alike(a[0, 1]))
    d[1] = wp.float64(part(a, 0)[1] + quoted(0.5).y)


def test_results_take_the_types_that_functions_are_annotated_with() -> None:
    a, d = np.array([[3.5, 0.25]], np.float32), np.zeros(2)
    launch(declared, 1, a, d)
    assert d.tolist() == [2 + 3 + 3 + 0.25, 0.75]
    wir = lower(declared)
    assert count_ops(wir, "scope") == 1  # both returns of `wider` are float64
