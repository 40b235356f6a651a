"""Conditions on launches: reading, showing, evaluating."""

from __future__ import annotations

import pytest

from heald.artifact import LinearTerm, Symbol
from heald.proof.conditions import (
    Clause,
    clause,
    from_linear,
    launch_condition,
    parse_clauses,
    sizes_in,
    with_sizes,
)

DIM, W = Symbol("dim"), Symbol("value", 1)
ROWS, COLS = Symbol("shape", 0, 0, 0), Symbol("shape", 0, 0, 1)
NAMES = {
    "dim[0]": DIM,
    "w": W,
    "a.shape[0]": ROWS,
    "a.shape[1]": COLS,
    "a.shape": (ROWS, COLS),
    "dim": (DIM,),
}
SHOWN = {DIM: "dim[0]", W: "w", ROWS: "a.shape[0]", COLS: "a.shape[1]"}


def read(text: str) -> list[Clause]:
    return parse_clauses(text, NAMES)


def holds(text: str, **numbers: int) -> bool:
    known = {DIM: 4, W: 3, ROWS: 12, COLS: 5}
    known |= {symbol: numbers[name] for name, symbol in (("w", W), ("d", DIM)) if name in numbers}
    return all(c.holds(known.__getitem__) for c in read(text))


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("dim[0] <= a.shape[0]", True),
        ("dim[0] * w <= a.shape[0]", True),
        ("dim[0] * w < a.shape[0]", False),
        ("dim[0] * w + 1 > a.shape[0]", True),
        ("dim[0] >= 5", False),
        ("w == 3", True),
        ("w == -3", False),
        ("0 <= w < dim[0] <= a.shape[0]", True),
        ("0 <= w < 3", False),
        ("(dim[0] + 2) * (w - 1) == a.shape[0]", True),
        ("w <= 3 and dim[0] <= 3", False),
        ("dim == 4", True),
        ("dim == 5", False),
        ("a.shape == a.shape", True),
        ("a.shape == 12", False),
    ],
)
def test_texts_mean_what_they_say(text: str, true: bool) -> None:
    assert holds(text) is true


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("dim[0]", "no comparison"),
        ("dim[0] <=", "no comparison"),
        ("dim[0] <= b.shape[0]", "'b.shape\\[0\\]' is no launch size; there are dim\\[0\\], w"),
        ("w != 3", "compared with"),
        ("w // 2 <= 3", "no launch size"),
        ("a.shape <= dim", "shapes are compared for equality"),
        ("a.shape == dim", "same rank"),
        ("dim < 3", "shapes are compared for equality"),
        ("w <= 1 or w <= 2", "no comparison"),
        ("__import__('os') == 1", "no launch size"),
    ],
)
def test_other_texts_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(text)


def test_clauses_are_shown_as_they_are_read() -> None:
    for text in ("dim[0] <= a.shape[0]", "dim[0] * w <= a.shape[0] + 1", "2 * w <= 7", "w == 3"):
        (found,) = read(text)
        assert read(found.describe(SHOWN.__getitem__)) == [found]
    (shown,) = read("a.shape[0] > dim[0]")
    assert shown.describe(SHOWN.__getitem__) == "dim[0] + 1 <= a.shape[0]"


def test_large_numbers_do_not_overflow() -> None:
    (c,) = read("w * w * w * w <= 5")
    assert not c.holds({W: 1 << 40}.__getitem__)
    assert c.holds({W: 1}.__getitem__)


def test_sums_are_clauses_of_a_launch_condition_and_products_are_not() -> None:
    linear = read("dim[0] <= a.shape[0]")
    condition = launch_condition(linear)
    assert condition is not None
    assert condition.holds({DIM: 4, ROWS: 4}.__getitem__)
    assert not condition.holds({DIM: 5, ROWS: 4}.__getitem__)
    assert launch_condition(read("dim[0] * w <= 3")) is None
    assert launch_condition(read("w == 3")) is None
    assert from_linear(LinearTerm(-1, ((1, ROWS), (-1, DIM)))) == clause(
        {(ROWS,): 1, (DIM,): -1, (): -1}
    )


def test_sizes_that_are_numbers() -> None:
    assert sizes_in(read("w == 3 and 2 * dim[0] == 8 and a.shape[0] <= 5")) == {W: 3, DIM: 4}
    assert sizes_in(read("2 * w == 7 and w * w == 9 and w == dim[0]")) == {}


def test_clauses_where_sizes_are_numbers() -> None:
    (product,) = read("dim[0] * w + w <= a.shape[0]")
    assert with_sizes(product, {W: 3}) == read("3 * dim[0] + 3 <= a.shape[0]")[0]
    assert not with_sizes(product, {W: 3}).is_constant
    (equal,) = read("w * w == 9")
    for number, true in ((3, True), (4, False)):
        constant = with_sizes(equal, {W: number})
        assert constant.is_constant
        assert constant.holds({}.__getitem__) is true
