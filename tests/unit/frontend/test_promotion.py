"""Every operator on every pair of scalar types, against the table in ``docs/language.md``."""

import operator
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import CompileError
from heald.driver import resolve
from heald.frontend import lower_call
from heald.interp import run
from heald.ir import check
from heald.ops import TABLE
from heald.types import SCALARS, Scalar, b1, bf16
from heald.types.descriptors import from_bfloat16, to_bfloat16

PAGE = Path(__file__).parents[3] / "docs" / "language.md"
NAMED = {t.public: t for t in SCALARS}
PAIRS = [(a, b) for a in SCALARS for b in SCALARS]


@cache
def table() -> dict[tuple[Scalar, Scalar], Scalar | None]:
    """What users are told: where two types meet."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith(("| | bool |", *(f"| **{name}**" for name in NAMED)))
    ]
    columns = [NAMED[name] for name in rows[0][1:]]
    found: dict[tuple[Scalar, Scalar], Scalar | None] = {}
    for row in rows[1:]:
        for column, cell in zip(columns, row[1:], strict=True):
            if cell:
                found[NAMED[row[0]], column] = found[column, NAMED[row[0]]] = NAMED.get(cell)
    return found


def test_the_table_is_whole() -> None:
    assert set(table()) == set(PAIRS)


# --------------------------------------------------------------------------------- the operators


@wp.func
def add(x: wp.Any, y: wp.Any):
    return x + y


@wp.func
def sub(x: wp.Any, y: wp.Any):
    return x - y


@wp.func
def mul(x: wp.Any, y: wp.Any):
    return x * y


@wp.func
def div(x: wp.Any, y: wp.Any):
    return x / y


@wp.func
def floor_div(x: wp.Any, y: wp.Any):
    return x // y


@wp.func
def remainder(x: wp.Any, y: wp.Any):
    return x % y


@wp.func
def power(x: wp.Any, y: wp.Any):
    return x**y


@wp.func
def bit_and(x: wp.Any, y: wp.Any):
    return x & y


@wp.func
def bit_or(x: wp.Any, y: wp.Any):
    return x | y


@wp.func
def bit_xor(x: wp.Any, y: wp.Any):
    return x ^ y


@wp.func
def left(x: wp.Any, y: wp.Any):
    return x << y


@wp.func
def right(x: wp.Any, y: wp.Any):
    return x >> y


@wp.func
def less(x: wp.Any, y: wp.Any):
    return x < y


@wp.func
def at_most(x: wp.Any, y: wp.Any):
    return x <= y


@wp.func
def more(x: wp.Any, y: wp.Any):
    return x > y


@wp.func
def at_least(x: wp.Any, y: wp.Any):
    return x >= y


@wp.func
def equal(x: wp.Any, y: wp.Any):
    return x == y


@wp.func
def unequal(x: wp.Any, y: wp.Any):
    return x != y


@wp.func
def choice(x: wp.Any, y: wp.Any):
    return x if x < y else y


@wp.func
def both(x: wp.Any, y: wp.Any):
    if x and y:  # noqa: SIM103 - as a condition
        return True
    return False


ARITHMETIC = {add: operator.add, sub: operator.sub, mul: operator.mul}
FLOORS = {floor_div: operator.floordiv, remainder: operator.mod}
BITS = {bit_and: operator.and_, bit_or: operator.or_, bit_xor: operator.xor}
SHIFTS = {left: operator.lshift, right: operator.rshift}
COMPARISONS = {
    less: operator.lt,
    at_most: operator.le,
    more: operator.gt,
    at_least: operator.ge,
    equal: operator.eq,
    unequal: operator.ne,
}


def evaluate(function: Any, a: Scalar, b: Scalar, x: Any, y: Any) -> tuple[Scalar, Any] | str:
    """Result type and value of a function on two numbers, or the code of the refusal."""
    overloads: tuple[FunctionType, ...] = function.__heald_overloads__
    try:
        kernel = lower_call(function.key, overloads, [a, b], resolve)
    except CompileError as error:
        (code,) = error.codes
        return code
    check(kernel, TABLE)
    outcome = run(kernel, (1,), [x, y])
    assert not outcome.faults
    (t,) = kernel.results
    assert isinstance(t, Scalar)
    (bits,) = outcome.results
    return t, from_bfloat16(bits[0]) if t is bf16 else bits[0]


def as_type(t: Scalar, number: Any) -> Any:
    """A Python or numpy number as numpy holds a ``t``; integers wrap."""
    if t is bf16:
        return from_bfloat16(to_bfloat16(np.float32(number)))
    if t.is_integer:
        return t.carrier.type((int(number) - t.lowest) % 2**t.bits + t.lowest)
    return t.carrier.type(number)


def samples(t: Scalar) -> tuple[Any, ...]:
    """Numbers that every ``t`` holds exactly; signed types have a negative one."""
    if t is b1:
        return (True, False)
    return (5, 100) if t.kind == "u" else (-7, 3) if t.is_integer else (-6.5, 2.25)


def check_value(function: Any, a: Scalar, b: Scalar, t: Scalar, operation: Callable[..., Any],
                xs: tuple[Any, ...], ys: tuple[Any, ...]) -> None:  # fmt: skip
    for x in xs:
        for y in ys:
            found = evaluate(function, a, b, x, y)
            with np.errstate(all="ignore"):
                expected = as_type(t, operation(x, y))
            assert found == (t, expected), (function.key, a, b, x, y)


@pytest.mark.parametrize("function", [*ARITHMETIC, choice], ids=lambda f: f.key)
def test_arithmetic(function: Any) -> None:
    for a, b in PAIRS:
        t = table()[a, b]
        if t is None or (t is b1 and function is not choice):
            expected = "H0204" if t is None and function is choice else "H0201"
            if function is choice and t is None:
                expected = "H0201"  # the comparison comes first
            assert evaluate(function, a, b, 1, 1) == expected, (a, b)
            continue
        operation = ARITHMETIC.get(function, min)
        check_value(function, a, b, t, operation, samples(a), samples(b))


def test_division() -> None:
    for a, b in PAIRS:
        t = table()[a, b]
        if t is None or not t.is_float:
            expected = "H0108" if t is not None and t.is_integer else "H0201"
            assert evaluate(div, a, b, 1, 1) == expected, (a, b)
        else:
            check_value(div, a, b, t, operator.truediv, (samples(a)[0],), (samples(b)[0],))


@pytest.mark.parametrize("function", FLOORS, ids=lambda f: f.key)
def test_floor_division_and_remainder(function: Any) -> None:
    for a, b in PAIRS:
        t = table()[a, b]
        if t is None or t is b1:
            assert evaluate(function, a, b, 1, 1) == "H0201", (a, b)
        else:
            divisors = tuple(y for y in samples(b) if y)
            check_value(function, a, b, t, FLOORS[function], samples(a), divisors)


def test_powers() -> None:
    for a, b in PAIRS:
        t = table()[a, b]
        if t is None or not t.is_float or b1 in (a, b):
            assert evaluate(power, a, b, 1, 1) == "H0201", (a, b)
        else:
            x = samples(a)[1]
            check_value(power, a, b, t, operator.pow, (x,), (2,))


@pytest.mark.parametrize("function", BITS, ids=lambda f: f.key)
def test_bits(function: Any) -> None:
    for a, b in PAIRS:
        t = table()[a, b]
        if t is None or t.is_float:
            assert evaluate(function, a, b, 1, 1) == "H0201", (a, b)
        else:
            check_value(function, a, b, t, BITS[function], samples(a), samples(b))


@pytest.mark.parametrize("function", SHIFTS, ids=lambda f: f.key)
def test_shifts_have_the_type_of_their_left_side(function: Any) -> None:
    for a, b in PAIRS:
        if not (a.is_integer and b.is_integer):
            assert evaluate(function, a, b, 1, 1) == "H0201", (a, b)
            continue
        check_value(function, a, b, a, SHIFTS[function], samples(a), (1, 3))
        if b.bits > 8:
            expected = as_type(a, SHIFTS[function](samples(a)[0], 65 % a.bits))
            assert evaluate(function, a, b, samples(a)[0], 65) == (a, expected), (a, b)


@pytest.mark.parametrize("function", COMPARISONS, ids=lambda f: f.key)
def test_comparisons(function: Any) -> None:
    for a, b in PAIRS:
        if table()[a, b] is None:
            assert evaluate(function, a, b, 1, 1) == "H0201", (a, b)
            continue
        check_value(function, a, b, b1, COMPARISONS[function], samples(a), samples(b))


def test_conditions_take_every_number() -> None:
    for a, b in PAIRS:
        for x in (0, samples(a)[0]):
            expected = bool(x) and bool(samples(b)[0])
            assert evaluate(both, a, b, x, samples(b)[0]) == (b1, expected), (a, b, x)


# ---------------------------------------------------------------------- casts, unary operators


@wp.func
def cast(x: wp.Any, y: wp.Any):
    return type(y)(x)


@wp.func
def negate(x: wp.Any, y: wp.Any):
    return -x


@wp.func
def invert(x: wp.Any, y: wp.Any):
    return ~x


@wp.func
def keep(x: wp.Any, y: wp.Any):
    return +x


@wp.func
def contradict(x: wp.Any, y: wp.Any):
    return not x


def test_casts_between_all_types() -> None:
    """Integers wrap, floats round, floats to integers truncate and saturate, NaN gives 0."""
    for a, b in PAIRS:
        values = [*samples(a)] + ([float("nan"), float("inf"), 300.75] if a.is_float else [])
        for x in values:
            number = float(as_type(a, x)) if a.is_float else x
            if b is b1:
                expected = bool(number) if number == number else True
            elif a.is_float and b.is_integer:
                whole = 0 if number != number else max(min(number, 2.0**64), -(2.0**63))
                expected = max(b.lowest, min(b.highest, int(whole)))
            else:
                with np.errstate(all="ignore"):
                    expected = as_type(b, number)
            t, found = evaluate(cast, a, b, x, 0) if b is not b1 else evaluate(cast, a, b, x, False)
            assert t is b
            assert found == expected or (found != found and expected != expected), (a, b, x)


@pytest.mark.parametrize(
    ("function", "operation", "accepts"),
    [
        (negate, operator.neg, lambda t: t is not b1),
        (keep, operator.pos, lambda t: True),
        (invert, operator.invert, lambda t: t.is_integer or t is b1),
    ],
)
def test_unary_operators(function: Any, operation: Any, accepts: Callable[[Scalar], bool]) -> None:
    for t in SCALARS:
        for x in samples(t):
            found = evaluate(function, t, t, x, x)
            if not accepts(t):
                assert found == "H0201", t
            elif t is b1:
                assert found == (b1, not x if function is invert else x)
            else:
                assert found == (t, as_type(t, operation(x))), (t, x)


def test_not_of_every_number() -> None:
    for t in SCALARS:
        for x in (samples(t)[0], False if t is b1 else 0):
            assert evaluate(contradict, t, t, x, x) == (b1, not x)
