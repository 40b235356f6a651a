"""Every way to use every value op, and operands that are likely to go wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from unit.ops.reference import FORMATS, decode, encode, finite, infinity, sign_bit, wrap

from heald.ir import Op, Value
from heald.ops import TABLE, Handled
from heald.ops.compare import FCMP_PREDS, ICMP_PREDS
from heald.types import FLOATS, SCALARS, Scalar, b1

Bits = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Case:
    """One op at one choice of types and attributes."""

    op: Op

    @property
    def sources(self) -> tuple[Scalar, ...]:
        return tuple(v.type for v in self.op.operands)  # type: ignore[misc]

    @property
    def target(self) -> Scalar:
        return self.op.results[0].type  # type: ignore[return-value]

    def __str__(self) -> str:
        attrs = ".".join(str(v) for v in self.op.attrs.values())
        name = f"{self.op.name}.{attrs}" if attrs else self.op.name
        return f"{name}-{'-'.join(map(str, self.sources))}-{self.target}"


FUNCTIONS = tuple(n for n, r in TABLE.items() if not isinstance(r.evaluate, Handled))
"""The ops that are functions of their operands."""


def attribute_choices(name: str) -> Iterator[dict[str, str]]:
    preds = {"icmp": ICMP_PREDS, "fcmp": FCMP_PREDS}.get(name)
    if preds is None:
        yield {}
    else:
        yield from ({"pred": pred} for pred in preds)


@cache
def cases(name: str) -> tuple[Case, ...]:
    """Everything that the type rule of an op accepts.  No op but ``select`` mixes operand types."""
    record, found = TABLE[name], []
    assert record.arity is not None
    for attrs, source, target in itertools.product(attribute_choices(name), SCALARS, SCALARS):
        types = [source] * record.arity
        if name == "select":
            types[0] = b1
        op = Op(name, tuple(map(Value, types)), (Value(target),), attrs)
        if record.type_rule(op) == (target,):
            found.append(Case(op))
    assert found, name
    return tuple(found)


ALL = tuple(case for name in FUNCTIONS for case in cases(name))


# -- operands --------------------------------------------------------------------------------------


@cache
def special(t: Scalar) -> tuple[int, ...]:
    """Bits of the values of a type at which something changes."""
    if t is b1:
        return (0, 1)
    if t.is_integer:
        top = sign_bit(t)
        near = [n + d for n in (0, top, t.bits) for d in (-2, -1, 0, 1, 2)]
        pattern = int("5" * 16, 16)
        return tuple(sorted({wrap(t, n) for n in (*near, 3, 5, 7, 10, pattern, ~pattern)}))
    fraction = FORMATS[t][1]
    one = encode(t, finite(1))
    sizes = [0, 1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1]
    sizes += [one - 1, one, one + 1, infinity(t) - 1, infinity(t), infinity(t) | 1 << fraction - 1]
    sizes += [encode(t, finite(Fraction(n, 4))) for n in (1, 2, 3, 5, 6, 7, 9, 10, 14, 399)]
    sizes += [(exponent_bits << fraction) | (1 << fraction) - 1 for exponent_bits in (1, 5, 20)]
    bounds = (7, 8, 15, 16, 31, 32, 63, 64, fraction, fraction + 1, fraction + 2)
    sizes += [encode(t, finite((1 << n) + d)) for n in bounds for d in (-1, 0, 1)]
    sizes += [encode(t, finite((1 << n) - Fraction(1, 2))) for n in (7, 8, 15, 16)]
    sizes = [bits for bits in sizes if bits < sign_bit(t)]
    return tuple(sorted({bits | sign for bits in sizes for sign in (0, sign_bit(t))}))


@cache
def midpoints(t: Scalar) -> tuple[int, ...]:
    """Values of ``t`` on, just above and just below halfway between neighbours of a float."""
    rng, found = np.random.default_rng(5), set()
    for narrow in FLOATS:
        fraction = FORMATS[narrow][1]
        if t.is_integer:
            for shift in range(max(0, t.bits - fraction - 1)):
                significand = (1 << fraction) + int(rng.integers(0, 1 << fraction))
                middle = 2 * significand + 1 << shift
                near = [middle + d for d in (-1, 0, 1)]
                found |= {wrap(t, s * n) for n in near for s in (-1, 1) if n <= t.highest}
        elif t.is_float and fraction < FORMATS[t][1]:
            for start in (*special(narrow), *map(int, rng.integers(0, infinity(narrow), 60))):
                bits = start & ~sign_bit(narrow)
                low, high = decode(narrow, bits), decode(narrow, bits + 1)
                if low.is_finite and high.is_finite:
                    middle = encode(t, finite((low.value + high.value) / 2))
                    found |= {middle + d for d in (-1, 0, 1)}
    return tuple(sorted(bits for bits in found if 0 <= bits < 1 << t.bits))


def random_bits(t: Scalar, count: int, rng: np.random.Generator) -> Bits:
    """Random bit patterns; of floats half of them between 1/16 and 16, of integers half small."""
    if t is b1:
        return rng.integers(0, 2, count, dtype=np.uint64)
    mask = np.uint64((1 << t.bits) - 1)
    anything = rng.integers(0, 1 << 64, count, dtype=np.uint64) & mask
    if t.is_integer:
        small = rng.integers(-20, 20, count).astype(np.uint64) & mask
        return np.where(rng.random(count) < 0.5, small, anything)
    one, width = encode(t, finite(1)), 8 << FORMATS[t][1]
    sign = rng.integers(0, 2, count, dtype=np.uint64) * np.uint64(sign_bit(t))
    usual = rng.integers(one - width // 2, one + width // 2, count, dtype=np.uint64) | sign
    return np.where(rng.random(count) < 0.5, usual, anything)


def _pairs(columns: list[list[int]], limit: int, rng: np.random.Generator) -> list[Bits]:
    """All combinations of the columns, or ``limit`` random ones of them."""
    sizes = [len(c) for c in columns]
    total = int(np.prod(sizes))
    chosen = np.arange(total) if total <= limit else rng.integers(0, total, limit)
    where = np.unravel_index(chosen, sizes)
    return [np.array(c, np.uint64)[w] for c, w in zip(columns, where, strict=True)]


def operands(case: Case, count: int) -> list[Bits]:
    """About ``count`` tuples of operands, by column: special values combined, then random ones."""
    rng = np.random.default_rng(list(str(case).encode()))
    columns = [list(special(t)) for t in case.sources]
    if len(case.sources) == 1:
        columns[0] += midpoints(case.sources[0])
    chosen = _pairs(columns, count // 2, rng)
    drawn = [random_bits(t, max(16, count - len(chosen[0])), rng) for t in case.sources]
    if case.op.name in ("fadd", "fsub", "fma"):
        _cancel(case, drawn)
    if len(set(case.sources)) == 1:
        for column in drawn[1:]:
            column[::5] = drawn[0][::5]  # equal operands
    return [np.concatenate(both) for both in zip(chosen, drawn, strict=True)]


def _cancel(case: Case, columns: list[Bits]) -> None:
    """Make every other last operand nearly the (negated) rest, which is where roundings show."""
    t, flip = case.target, np.uint64(sign_bit(case.target))
    nudge = np.arange(len(columns[0]), dtype=np.uint64) % np.uint64(3)
    rest = columns[0]
    if case.op.name == "fma":
        a, b = (to_carrier(t, c) for c in columns[:2])
        with np.errstate(all="ignore"):
            rest = to_bits(t, a * b)
    near = (rest ^ flip) + nudge & np.uint64((1 << t.bits) - 1)
    columns[-1][::2] = near[::2]


# -- between bits and carriers ---------------------------------------------------------------------


def to_carrier(t: Scalar, bits: Bits) -> Any:
    """Bits as an array of the carrier."""
    if t is b1:
        return bits.astype(np.bool_)
    return bits.astype(f"u{t.bits // 8}").view(t.carrier)


def arguments(case: Case, columns: list[Bits]) -> list[Any]:
    """Columns of bits as arrays of the carriers of a case."""
    return [to_carrier(t, c) for t, c in zip(case.sources, columns, strict=True)]


def to_bits(t: Scalar, values: Any) -> Bits:
    """An array of the carrier as bits."""
    values = np.asarray(values)
    assert values.dtype == t.carrier, (values.dtype, t)
    if t is b1:
        return values.astype(np.uint64)
    return values.view(f"u{t.bits // 8}").astype(np.uint64)


def same(t: Scalar, found: Bits, expected: Bits) -> Any:
    """Where two results agree: equal bits, or both NaN."""
    if not t.is_float:
        return found == expected
    size, inf = np.uint64(sign_bit(t) - 1), np.uint64(infinity(t))
    return (found == expected) | (((found & size) > inf) & ((expected & size) > inf))


def check_same(case: Case, columns: list[Bits], found: Bits, expected: Bits, exact: bool) -> None:
    """Fail with the first operands whose results differ; ``exact`` compares the bits of NaN too."""
    good = found == expected if exact else same(case.target, found, expected)
    if not good.all():
        k = int(np.argmin(good))
        args = ", ".join(hex(c[k]) for c in columns)
        raise AssertionError(
            f"{case}({args}) gives {found[k]:#x}, not {expected[k]:#x}; {np.sum(~good)} differ"
        )
