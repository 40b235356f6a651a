"""Value ops of widened kernels, and conditions that are known without looking at the lanes."""

import numpy as np
import pytest
from unit.codegen.harness import Make
from unit.codegen.test_values import COUNT, FUNCTIONS, same_bits, sample, ways_of
from unit.codegen.widening import launch, widen

from heald.ir import Op, Value
from heald.ops import TABLE
from heald.types import INTEGERS, Array, Scalar, i32

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("name", FUNCTIONS)
def test_eight_lanes_compute_what_evaluate_says(name: str) -> None:
    ways = ways_of(name)
    params, inputs, outputs, expected = {}, [], [], []
    for k, way in enumerate(ways):
        operands = [sample(t, 10 * k + n) for n, t in enumerate(way.operands)]
        params |= {f"a{k}_{n}": Array(t, 1) for n, t in enumerate(way.operands)}
        params[f"r{k}"] = Array(way.result, 1)
        result = np.zeros(COUNT, way.result.carrier)
        inputs += [*operands, result]
        outputs.append(result)
        op = Op(name, tuple(map(Value, way.operands)), (Value(way.result),), dict(way.attrs))
        expected.append(np.broadcast_to(TABLE[name].evaluate(op, *operands), COUNT))
    m = Make(**params)
    i = m.tid()
    for k, way in enumerate(ways):
        values = [m.load(getattr(m, f"a{k}_{n}"), i) for n in range(len(way.operands))]
        m.store(getattr(m, f"r{k}"), i, m.op(name, *values, type=way.result, **dict(way.attrs)))
    forms = widen(m.done(), unit=True, safety="unchecked")
    assert forms.width == 8
    launch(forms, (COUNT,), inputs)
    for way, got, want in zip(ways, outputs, expected, strict=True):
        assert same_bits(way.result, got, np.ascontiguousarray(want)), way


@pytest.mark.parametrize("name", ["idiv", "irem", "udiv", "urem"])
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_divisions_are_exact(name: str, t: Scalar) -> None:
    # By vectors, by a number for all and by constants, at the ends of the type and next to
    # multiples, where a quotient in floating point comes nearest to the next integer.
    if (name[0] == "u") != (t.kind == "u"):
        pytest.skip("not an op of this type")
    rng = np.random.default_rng(t.bits)
    info = np.iinfo(t.carrier)
    odd = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7], t.carrier)
    b = np.concatenate([odd, rng.integers(info.min, info.max, 500, t.carrier, endpoint=True)])
    b[b == 0] = 1
    k = rng.integers(info.min, info.max, b.size, t.carrier, endpoint=True)
    with np.errstate(all="ignore"):
        near = (k // b * b).astype(t.carrier)
        near = near + rng.integers(-1 if t.kind == "i" else 0, 2, b.size).astype(t.carrier)
    a = np.concatenate([near, k, np.resize(odd, 99)])
    b = np.concatenate([b, b, np.repeat(odd, 11)])
    b[b == 0] = 5
    constants = [3, 7, info.max, *([-1, info.min] if t.kind == "i" else [info.max // 2 + 1])]
    m = Make(a=Array(t, 1), b=Array(t, 1), d=t, y=Array(t, 2))
    i = m.tid()
    x = m.load(m.a, i)
    divisors = [m.load(m.b, i), m.d, *(m.const(t, c) for c in constants)]
    for n, divisor in enumerate(divisors):
        m.store(m.y, m.const(i32, n), i, m.op(name, x, divisor))
    forms = widen(m.done(), unit=True)
    assert forms.width == 8
    y = np.zeros((len(divisors), a.size), t.carrier)
    assert launch(forms, (a.size,), [a, b, 10, y]) is None
    op = Op(name, (Value(t), Value(t)), (Value(t),))
    for row, divisor in zip(y, [b, 10, *constants], strict=True):
        given = np.broadcast_to(np.asarray(divisor).astype(t.carrier), a.shape)
        np.testing.assert_array_equal(row, TABLE[name].evaluate(op, a, given))
