"""Launch conditions: every clause against what it means byte by byte, and 64-bit arithmetic."""

from collections.abc import Callable
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heald.artifact import Apart, ArrayPlace, LaunchCondition, LinearTerm, Symbol, Unit

Words = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Pointer, extents, byte strides."""
HIGHEST = (1 << 63) - 1


def looked_up(*arrays: Words, dims: tuple[int, ...] = (1,), value: int = 0) -> Callable[..., int]:
    def number(symbol: Symbol) -> int:
        match symbol.kind:
            case "dim":
                return dims[symbol.axis]
            case "value":
                return value
        pointer, shape, strides = arrays[symbol.parameter]
        table = {"pointer": (pointer,), "shape": shape, "stride": strides}
        return table[symbol.kind][symbol.axis]

    return number


def places(*arrays: Words, itemsize: int = 4) -> list[ArrayPlace]:
    return [ArrayPlace(n, 0, len(shape), itemsize) for n, (_, shape, _) in enumerate(arrays)]


def holds(clause: LinearTerm | Apart | Unit, *arrays: Words, **numbers: object) -> bool:
    return LaunchCondition((clause,)).holds(looked_up(*arrays, **numbers))  # type: ignore[arg-type]


def element_bytes(array: Words, itemsize: int = 4) -> list[set[int]]:
    """The addresses of the bytes of each element."""
    pointer, shape, strides = array
    starts = [
        pointer + sum(k * stride for k, stride in zip(index, strides, strict=True))
        for index in product(*map(range, shape))
    ]
    return [set(range(start, start + itemsize)) for start in starts]


# ------------------------------------------------------------------------------------ linear terms


def test_a_linear_term_is_a_sum_not_below_zero() -> None:
    clause = LinearTerm(-1, ((-2, Symbol("dim")), (1, Symbol("shape", 0, 0, 1))))
    for dim, extent in product(range(6), range(14)):
        assert holds(clause, (0, (9, extent), (0, 0)), dims=(dim,)) is (2 * dim + 1 <= extent)
    text = LaunchCondition((clause,)).describe(lambda s: f"{s.kind}[{s.axis}]")
    assert text == "2 * dim[0] + 1 <= shape[1]"
    assert LaunchCondition().describe(str) == "always"


@pytest.mark.parametrize(
    ("constant", "terms"),
    [
        (HIGHEST, ((1, Symbol("value")),)),  # a sum overflows
        (0, ((2, Symbol("value")),)),  # a product
        (HIGHEST, ((1, Symbol("value")), (-1, Symbol("value")))),  # on the way
    ],
)
def test_overflow_makes_a_clause_false(
    constant: int, terms: tuple[tuple[int, Symbol], ...]
) -> None:
    assert sum(c * (HIGHEST // 2 + 1) for c, _ in terms) + constant >= 0
    assert not holds(LinearTerm(constant, terms), value=HIGHEST // 2 + 1)


def test_a_number_beyond_64_bits_makes_a_clause_false() -> None:
    clause = LinearTerm(0, ((1, Symbol("value")),))
    assert holds(clause, value=HIGHEST)
    assert not holds(clause, value=HIGHEST + 1)


# ---------------------------------------------------------------------------------------- arrays

arrays = st.integers(1, 3).flatmap(
    lambda ndim: st.tuples(
        st.integers(1000, 1040),
        st.tuples(*[st.integers(0, 3)] * ndim),
        st.tuples(*[st.sampled_from([-24, -12, -4, 0, 2, 4, 8, 12, 16, 48])] * ndim),
    )
)


@given(st.lists(arrays, min_size=1, max_size=3), st.integers(1, 3))
def test_apart_arrays_share_no_bytes(given_arrays: list[Words], written: int) -> None:
    found = places(*given_arrays)
    written = min(written, len(found))
    if not holds(Apart(tuple(found[:written]), tuple(found[written:])), *given_arrays):
        return
    parts = [element_bytes(array) for array in given_arrays]
    for k in range(written):
        for one, two in combinations(parts[k], 2):
            assert one.isdisjoint(two)
        for other in range(k + 1, len(parts)):
            assert set().union(*parts[k]).isdisjoint(set().union(*parts[other]))


def test_arrays_side_by_side_are_apart() -> None:
    one, two = (0x1000, (4, 3), (12, 4)), (0x1000 + 48, (5,), (-4,))
    assert not holds(Apart(*[(p,) for p in places(one, two)]), one, two)  # two runs back into one
    two = (0x1000 + 64, (5,), (-4,))
    assert holds(Apart(*[(p,) for p in places(one, two)]), one, two)
    assert holds(Apart(*[(p,) for p in places(two, one)]), two, one)
    rows = (0x1000, (4, 3), (64, 4))
    column = (0x1000 + 16, (2,), (64,))  # between the rows, but the spans overlap
    assert not holds(Apart(*[(p,) for p in places(rows, column)]), rows, column)


def test_arrays_without_elements_are_apart_from_everything() -> None:
    one, nothing = (0x1000, (4,), (4,)), (0x1004, (0, 7), (4, 0))
    assert holds(Apart(*[(p,) for p in places(one, nothing)]), one, nothing)
    assert holds(Apart(*[(p,) for p in places(nothing, one)]), nothing, one)


def test_one_array_twice_counts_as_apart_only_where_it_may_be_merged() -> None:
    a = (0x1000, (4, 3), (12, 4))
    place = places(a, a)
    apart = Apart((place[0],), (place[1],))
    merged = Apart((place[0],), (place[1],), frozenset({(0, 1)}))
    assert not holds(apart, a, a)
    assert holds(merged, a, a)
    assert not holds(merged, a, (0x1000, (4, 2), (12, 4)))
    assert not holds(merged, a, (0x1000, (4, 3), (12, 8)))
    assert not holds(merged, a, (0x1004, (4, 3), (12, 4)))
    wide = Apart((place[0],), (ArrayPlace(1, 0, 2, 8),), frozenset({(0, 1)}))
    assert not holds(wide, a, a)


def test_arrays_that_are_only_read_may_overlap() -> None:
    a, c = (0x1000, (9,), (0,)), (0x2000, (9,), (4,))
    place = places(c, a, a)
    assert holds(Apart((place[0],), tuple(place[1:])), c, a, a)
    assert not holds(Apart(tuple(place[1:]), (place[0],)), c, a, a)


def test_addresses_beyond_64_bits_are_not_apart() -> None:
    far = (0x1000, (1 << 32, 1 << 31), (1 << 33, 4))
    assert not holds(Apart((places(far)[0],)), far)
    high = (HIGHEST - 3, (1,), (4,))
    assert not holds(Apart((places(high)[0],)), high)


@given(arrays, st.sampled_from([1, 4, 16]))
def test_unit_arrays_are_dense_and_aligned(array: Words, alignment: int) -> None:
    pointer, _, strides = array
    expected = strides[-1] == 4 and pointer % alignment == 0
    assert holds(Unit(tuple(places(array)), alignment), array) is expected


def test_unit_arrays_are_smaller_than_two_to_the_31() -> None:
    def unit(extent: int, stride: int, itemsize: int) -> bool:
        array = (0x1000, (2, extent), (stride, itemsize))
        return holds(Unit(tuple(places(array, itemsize=itemsize))), array)

    assert unit(10, (1 << 31) - 41, 4)
    assert not unit(10, (1 << 31) - 40, 4)
    assert unit(10, -(1 << 31) + 41, 4)
    assert not unit(10, -(1 << 31) + 40, 4)
    assert not unit(1 << 62, 1, 4)


def test_clauses_are_joined_by_and() -> None:
    a, b = (0x1000, (4,), (4,)), (0x1004, (4,), (4,))
    one, two = places(a, b)
    name = {0: "c", 1: "a"}
    both = LaunchCondition((Unit((one, two), 4), Apart((one,), (two,))))
    assert both.describe(lambda s: name[s.parameter]) == (
        "c, a dense and aligned to 4 bytes and c apart from a"
    )
    assert LaunchCondition(both.clauses[:1]).holds(looked_up(a, b))
    assert not both.holds(looked_up(a, b))
    assert both.holds(looked_up(a, (0x1010, (4,), (4,))))
