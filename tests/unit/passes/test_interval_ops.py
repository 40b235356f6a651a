"""Each op and comparison on all 8-bit numbers: an index called inside is inside for all of them."""

from __future__ import annotations

import itertools
import random
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from unit.passes.launches import kernel_of

from heald.ir import Builder, Kernel, Op, Value, check, walk
from heald.ops import TABLE
from heald.passes import analyse_intervals
from heald.types import Array, Scalar, f32, i8, i16, i32, i64, u8, u16

CONSTANTS = (0, 1, 2, 3, 7, 8, 15, 100, 127, -1, -2, -8, -100, -128)
PREDS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
SIGNED = ("iadd", "isub", "imul", "idiv", "irem", "iand", "ior", "ixor", "shl", "lshr", "ashr")
SIGNED += ("smin", "smax")
UNSIGNED = ("iadd", "isub", "imul", "udiv", "urem", "iand", "ior", "ixor", "shl", "lshr", "ashr")
UNSIGNED += ("umin", "umax")


def every(t: Scalar) -> Any:
    return np.arange(256).astype(np.uint8).view(t.carrier)


def evaluate(
    name: str, result: Scalar, *operands: Any, types: tuple[Scalar, ...], **attrs: Any
) -> Any:
    op = Op(name, tuple(map(Value, types)), (Value(result),), MappingProxyType(attrs))
    return TABLE[name].evaluate(op, *operands)


def fitted(t: Scalar, number: int) -> int:
    return (number - t.lowest) % (1 << t.bits) + t.lowest


class Tried:
    """A kernel that stores at an index in each arm of a comparison, and all the indices there."""

    def __init__(self, t: Scalar, name: str, number: int, pred: str, bound: int) -> None:
        self.t = t
        self.values = every(t)
        number, bound = fitted(t, number), fitted(t, bound)
        b = self.builder = Builder(TABLE)
        self.parameter = Value(t)
        b.open()
        (self.array,) = b.emit("alloc", (), (Array(f32, 1, "local", (100,)),))
        other = np.full(256, number, t.carrier)
        self.computed = evaluate(name, t, self.values, other, types=(t, t))
        result = b.op(name, self.parameter, b.const(t, number))
        self.truth = evaluate(
            "icmp", t, self.computed, np.full(256, bound, t.carrier), types=(t, t), pred=pred
        )
        condition = b.op("icmp", result, b.const(t, bound), pred=pred)
        self.indices: list[Any] = []
        regions = []
        for truth in (True, False):
            b.open()
            for value, numbers in ((self.parameter, self.values), (result, self.computed)):
                for offset in (0, 3):
                    self.store(value, numbers[self.truth == truth], offset)
            b.emit("yield")
            regions.append(b.close())
        b.emit("if", (condition,), (), regions)
        b.emit("return")

    def store(self, value: Value, numbers: Any, offset: int) -> None:
        b = self.builder
        how = "sext" if self.t.kind == "i" else "zext"
        index = b.op("iadd", b.op(how, value, type=i32), b.const(i32, offset))
        b.emit("store", (self.array, index, b.const(f32, 1.0)))
        self.indices.append(numbers.astype(np.int64) + offset)

    def kernel(self) -> Kernel:
        return Kernel("k", (self.parameter,), self.builder.close())


def verdicts(kernel: Kernel) -> list[bool]:
    found = analyse_intervals(kernel)
    return [op in found.proved for op in walk(kernel.body) if op.name == "store"]


@pytest.mark.parametrize(
    ("t", "name"), [*((i8, n) for n in SIGNED), *((u8, n) for n in UNSIGNED)], ids=str
)
def test_every_number_through_an_op_and_a_comparison(t, name):
    rng = random.Random(name)
    combinations = list(itertools.product(CONSTANTS, PREDS, CONSTANTS))
    proofs = right = 0
    for number, pred, bound in rng.sample(combinations, 90):
        tried = Tried(t, name, number, pred, bound)
        kernel = tried.kernel()
        for indices, proved in zip(tried.indices, verdicts(kernel), strict=True):
            inside = bool(np.all((indices >= 0) & (indices < 100)))
            right += inside
            proofs += proved
            assert inside or not proved, (t, name, number, pred, bound, indices)
    assert proofs > 0.2 * right  # what is never proved is never wrong


@pytest.mark.parametrize("pred", PREDS)
@pytest.mark.parametrize("t", [i8, u8])
def test_comparisons_with_constants_are_understood(t, pred):
    """Nothing is lost of what one comparison says, but for `ne` and reading across the sign."""
    native = pred in ("eq", "ne") or pred[0] == ("s" if t.kind == "i" else "u")
    for bound in CONSTANTS:
        tried = Tried(t, "iadd", 0, pred, bound)
        kernel = tried.kernel()
        for indices, proved in zip(tried.indices, verdicts(kernel), strict=True):
            inside = bool(np.all((indices >= 0) & (indices < 100)))
            if proved:
                assert inside
            elif native and pred not in ("eq", "ne") and len(indices):
                assert not inside, (t, pred, bound)


@pytest.mark.parametrize("t", [i8, u8])
def test_conversions_of_every_number(t):
    """A chain of conversions, compared and used as an index."""
    targets = (i8, u8, i16, u16, i32)
    proofs = 0
    for middle, last in itertools.product(targets, targets):
        ways = [conversions(t, middle), conversions(middle, last)]
        for first, second in itertools.product(*ways):
            for bound, offset in itertools.product((0, 5, -5, 100, 127), (0, 5, 128)):
                proofs += convert_and_store(t, [(first, middle), (second, last)], bound, offset)
    assert proofs > 300


def conversions(source: Scalar, target: Scalar) -> tuple[str, ...]:
    if source.bits == target.bits:
        return ("bitcast",)
    return ("trunc",) if source.bits > target.bits else ("sext", "zext")


def convert_and_store(t: Scalar, chain: list[tuple[str, Scalar]], bound: int, offset: int) -> int:
    b = Builder(TABLE)
    parameter = value = Value(t)
    numbers, source = every(t), t
    b.open()
    (array,) = b.emit("alloc", (), (Array(f32, 1, "local", (140,)),))
    for name, target in chain:
        value = b.op(name, value, type=target)
        numbers = evaluate(name, target, numbers, types=(source,))
        source = target
    pred = "slt" if source.kind == "i" else "ult"
    limit = fitted(source, bound)
    condition = b.op("icmp", value, b.const(source, limit), pred=pred)
    index = value
    if source.bits < 32:
        index = b.op("sext" if source.kind == "i" else "zext", value, type=i32)
    b.open()
    place = b.op("iadd", index, b.const(i32, offset))
    b.emit("store", (array, place, b.const(f32, 1.0)))
    b.emit("yield")
    then = b.close()
    b.open()
    b.emit("yield")
    b.emit("if", (condition,), (), (then, b.close()))
    b.emit("return")
    kernel = Kernel("k", (parameter,), b.close())
    check(kernel, TABLE)
    (proved,) = verdicts(kernel)
    reached = numbers.astype(np.int64)[numbers.astype(np.int64) < limit] + offset
    assert not proved or np.all((reached >= 0) & (reached < 140)), (chain, bound, offset)
    return proved


# ------------------------------------------------------------------------------ single facts


def stores(text: str) -> list[bool]:
    return verdicts(kernel_of(text))


def test_sums_and_shifts_that_wrap_say_nothing_of_their_operands():
    """``n << 29`` is negative for n = 4, hence less than 8."""
    for computed, largest in (
        ("shl %n, %c29", 7),
        ("imul %n, %big", 7),
        ("iadd %n, %top", 7),
    ):
        text = f"""
            %c29: i32 = const [value=29]
            %big: i32 = const [value={1 << 29}]
            %top: i32 = const [value={2**31 - 4}]
            %8: i32 = const [value=8]
            %0: i32 = const [value=0]
            %most: i32 = const [value={largest}]
            %l: local<f32,4> = alloc
            %lo: b1 = icmp %n, %0 [pred="sge"]
            %hi: b1 = icmp %n, %most [pred="sle"]
            %s: i32 = {computed}
            %lt: b1 = icmp %s, %8 [pred="slt"]
            %1: b1 = iand %lo, %hi
            %2: b1 = iand %1, %lt
            if %2 () {{
              store %l, %n, %x
              yield
            }} () {{
              yield
            }}
            """
        assert stores(text) == [False]


def test_zero_extension_moves_negative_numbers_up():
    text = """
        %m5: i32 = const [value=-5]
        %0: i32 = const [value=0]
        %5: i64 = const [value=5]
        %l: local<f32,8> = alloc
        %lo: b1 = icmp %n, %m5 [pred="sge"]
        %hi: b1 = icmp %n, %0 [pred="slt"]
        %c: b1 = iand %lo, %hi
        if %c () {
          %w: i64 = HOW %n
          %i: i64 = iadd %w, %5
          store %l, %i, %x
          yield
        } () {
          yield
        }
        """
    assert stores(text.replace("HOW", "sext")) == [True]
    assert stores(text.replace("HOW", "zext")) == [False]


SHORT = """
    %0: i32 = const [value=0]
    %9: i32 = const [value=9]
    %l: local<f32,9> = alloc
    %t: b1 = const [value=true]
    %f: b1 = const [value=false]
    %lo: b1 = icmp %n, %0 [pred="{lo}"]
    %c: b1 = if %lo () {{
      {then}
    }} () {{
      {other}
    }}
    if %c () {{
      {first}
      yield
    }} () {{
      {second}
      yield
    }}
    """
TEST = '%hi: b1 = icmp %n, %9 [pred="{}"]\nyield %hi'
STORE = "store %l, %n, %x"


def test_short_circuits_say_what_they_should_and_no_more():
    both = {"lo": "sge", "then": TEST.format("slt"), "other": "yield %f"}
    assert stores(SHORT.format(**both, first=STORE, second="")) == [True]
    assert stores(SHORT.format(**both, first="", second=STORE)) == [False]
    either = {"lo": "slt", "then": "yield %t", "other": TEST.format("sge")}
    assert stores(SHORT.format(**either, first="", second=STORE)) == [True]
    assert stores(SHORT.format(**either, first=STORE, second="")) == [False]
    # `n < 0 or n < 9` says nothing against negative numbers, `n >= 0 or n < 9` nothing at all.
    loose = {"lo": "slt", "then": "yield %t", "other": TEST.format("slt")}
    assert stores(SHORT.format(**loose, first=STORE, second="")) == [False]
    loose["lo"] = "sge"
    assert stores(SHORT.format(**loose, first=STORE, second="")) == [False]


def test_a_view_of_one_element_counts():
    """From n - 2 on, n elements with step 0: for n = 1 that is element -1."""
    text = """
        %0: i32 = const [value=0]
        %2: i32 = const [value=2]
        %d: i32 = dim %a [axis=0]
        %lo: b1 = icmp %n, %LEAST [pred="sge"]
        %hi: b1 = icmp %n, %d [pred="sle"]
        %c: b1 = iand %lo, %hi
        if %c () {
          %s: i32 = isub %n, %2
          %v: array<f32,1> = subview %a, %s, %n, %0 [axes="s"]
          store %v, %s, %x
          yield
        } () {
          yield
        }
        """
    assert stores(text.replace("%LEAST", "%2")) == [True]
    assert stores(text.replace("%LEAST", "%0")) == [False]
    text = text.replace("%LEAST", "%1").replace("%0:", "%1: i32 = const [value=1]\n%0:")
    assert stores(text) == [False]


@pytest.mark.parametrize("t", [i32, i64])
def test_remainders_by_what_may_be_zero_are_not_below_it(t):
    text = f"""
        %0: {t} = const [value=0]
        %i: i32 = tid [axis=0]
        %d: {t} = dim %a [axis=0]
        %j: {t} = {"sext %i" if t is i64 else "smax %i, %0"}
        %r: {t} = irem %j, %d
        store %a, %r, %x
        %c: b1 = icmp %d, %0 [pred="sgt"]
        if %c () {{
          %s: {t} = irem %j, %d
          store %a, %s, %x
          yield
        }} () {{
          yield
        }}
        """
    assert stores(text) == [False, True]
