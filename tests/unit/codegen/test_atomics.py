"""Atomics: the meaning of each on each type, and that no update is lost."""

from collections.abc import Callable

import numpy as np
import pytest
from unit.codegen.harness import Launch, Make, run

from heald.codegen import parallel_launcher
from heald.ir import Kernel
from heald.types import ARITHMETIC, SCALARS, Array, Scalar, Struct, Vector, b1, bf16, f32, i32, u8
from heald.types.descriptors import from_bfloat16, to_bfloat16

pytestmark = pytest.mark.cpu

INTEGERS_AND_B1 = [t for t in SCALARS if not t.is_float]


def update_kernel(kind: str, t: Scalar) -> Kernel:
    """``old[i] = atomic(x[i], [expected[i],] v[i])``."""
    m = Make(x=Array(t, 1), e=Array(t, 1), v=Array(t, 1), old=Array(t, 1))
    i = m.tid()
    value = m.load(m.v, i)
    operands = [m.load(m.e, i), value] if kind == "cas" else [value]
    m.store(m.old, i, m.atomic(kind, m.x, i, *operands))
    return m.done()


def numbers(t: Scalar, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if t is b1:
        return rng.integers(0, 2, 64).astype(bool)
    if t.is_integer:
        edges = np.array([t.lowest, t.highest, 0, 1, 2], t.carrier)[rng.integers(0, 5, 32)]
        return np.concatenate([edges, rng.integers(0, 99, 32).astype(t.carrier)])
    special = [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 6e4, 1e-7, 0.1]
    values = np.float64(list(rng.choice(special, 32)) + list(rng.normal(size=32) * 100))
    return to_bfloat16(values) if t is bf16 else values.astype(t.carrier)


def check(kind: str, t: Scalar, meaning: Callable[..., np.ndarray]) -> None:
    x, e, v = (numbers(t, seed) for seed in (1, 2, 3))
    e = np.where(np.arange(64) % 2 == 0, x, e)  # half of the swaps happen
    before, old = x.copy(), np.zeros_like(x)
    assert run(update_kernel(kind, t), 64, x, e, v, old).fault is None
    assert same(t, old, before)
    with np.errstate(all="ignore"):
        assert same(t, x, meaning(before, e, v))


def same(t: Scalar, found: np.ndarray, expected: np.ndarray) -> bool:
    if t is bf16:
        found, expected = from_bfloat16(found), from_bfloat16(expected)
    zero = np.signbit(found) == np.signbit(expected) if t.is_float else np.True_
    return bool((np.isnan(found) & np.isnan(expected) | (found == expected) & zero).all())


def through_float(t: Scalar, meaning: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """numpy has no bfloat16: compute in float32 and round once."""
    if t is not bf16:
        return meaning
    return lambda x, e, v: to_bfloat16(meaning(from_bfloat16(x), e, from_bfloat16(v)))


@pytest.mark.parametrize("t", ARITHMETIC, ids=str)
def test_sums_and_extremes(t: Scalar) -> None:
    check("add", t, through_float(t, lambda x, e, v: x + v))
    check("sub", t, through_float(t, lambda x, e, v: x - v))
    check("min", t, through_float(t, lambda x, e, v: np.where(v < x, v, x)))
    check("max", t, through_float(t, lambda x, e, v: np.where(v > x, v, x)))


@pytest.mark.parametrize("t", INTEGERS_AND_B1, ids=str)
def test_bits(t: Scalar) -> None:
    check("and", t, lambda x, e, v: x & v)
    check("or", t, lambda x, e, v: x | v)
    check("xor", t, lambda x, e, v: x ^ v)


@pytest.mark.parametrize("t", SCALARS, ids=str)
def test_exchanges(t: Scalar) -> None:
    check("exch", t, lambda x, e, v: v)
    bits = np.dtype(f"u{t.carrier.itemsize}")
    check("cas", t, lambda x, e, v: np.where(x.view(bits) == e.view(bits), v, x))


def test_a_bool_byte_that_is_not_one_takes_part_as_true() -> None:
    for kind, expected in [("and", 1), ("xor", 0), ("or", 1), ("cas", 0), ("exch", 1)]:
        raw = np.array([6], np.uint8)
        value = np.array([kind != "cas"])
        old = np.zeros(1, np.uint8)
        x = raw.view(bool)
        run(update_kernel(kind, b1), 1, x, np.array([True]), value, old.view(bool))
        assert (raw[0], old[0]) == (expected, 1), kind


def test_leaves_of_an_element() -> None:
    pair = Struct("Pair", (("v", Vector(f32, 2)), ("n", u8)))
    m = Make(x=Array(pair, 1))
    zero = m.const(i32, 0)
    i = m.tid()
    value = m.op("sitofp", i, type=f32)
    m.atomic("add", m.x, zero, value, leaf=1)
    m.atomic("max", m.x, zero, m.op("trunc", i, type=u8), leaf=2)
    x = np.zeros(2, np.dtype({"names": ["v", "n"], "formats": ["2f4", "u1"], "itemsize": 12}))
    run(m.done(), 100, x)
    assert x["v"].tolist() == [[0, 4950], [0, 0]]
    assert x["n"].tolist() == [99, 0]


@pytest.mark.parametrize("t", [t for t in SCALARS if t is not b1], ids=str)
def test_no_update_is_lost_among_cores(t: Scalar) -> None:
    # Sums that are exact in every type, in neighbouring elements, from more teams than cores.
    launcher = parallel_launcher()
    if launcher is None:
        pytest.skip("no OpenMP runtime")
    m = Make(x=Array(t, 1), swapped=Array(t, 1))
    i = m.tid()
    slot = m.op("iand", i, m.const(i32, 3))
    one = m.const(t, 1)
    m.atomic("add", m.x, slot, one)

    def again(seen):
        more = m.op("fadd" if t.is_float else "iadd", seen, one)
        old = m.atomic("cas", m.swapped, slot, seen, more)
        pred = ("fcmp", "une") if t.is_float else ("icmp", "ne")
        differs = m.op(pred[0], old, seen, pred=pred[1])
        return m.if_(differs, lambda: [old], lambda: m.leave("return"), [t])

    m.while_([m.load(m.swapped, slot)], lambda seen: [m.const(b1, True)], again)
    kernel = m.done()
    each = 100
    x, swapped = np.zeros(4, t.carrier), np.zeros(4, t.carrier)
    launch = Launch(kernel, (4 * each,), (x, swapped))
    launch.share(launcher, 4)
    if t is bf16:
        x, swapped = from_bfloat16(x), from_bfloat16(swapped)
    assert x.tolist() == swapped.tolist() == [each] * 4
