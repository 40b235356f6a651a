"""Value ops and constants: machine code against their reference meaning."""

import math

import numpy as np
import pytest
from strategies import Signature, signatures
from unit.codegen.harness import Make, run

from heald.codegen.binding import binding
from heald.codegen.spelling import scalar_type
from heald.codegen.writer import Writer
from heald.ir import Effect, Op, Value
from heald.ops import TABLE
from heald.ops.lowering import lower_op
from heald.types import SCALARS, Array, Scalar, b1, bf16, i32

COUNT = 64
FUNCTIONS = sorted(name for name in TABLE if signatures(name))


def sample(t: Scalar, seed: int) -> np.ndarray:
    """Bits of all kinds, half of them small numbers; one array is one operand."""
    rng = np.random.default_rng(seed)
    if t is b1:
        return rng.integers(0, 2, COUNT).astype(bool)
    bits = rng.integers(0, 256, COUNT * t.carrier.itemsize, dtype=np.uint8).view(t.carrier)
    if t is bf16:
        return bits
    small = rng.integers(0 if t.kind == "u" else -9, 9, COUNT).astype(t.carrier)
    return np.where(rng.integers(0, 2, COUNT) == 0, bits, small)


def same_bits(t: Scalar, found: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bits, where a NaN is a NaN."""
    if t is b1:
        return bool((found == expected).all())
    bits = np.dtype(f"u{t.carrier.itemsize}")
    nan = is_nan(t, found) & is_nan(t, expected)
    return bool(((found.view(bits) == expected.view(bits)) | nan).all())


def is_nan(t: Scalar, x: np.ndarray) -> np.ndarray:
    if t is bf16:
        return (x & 0x7FFF) > 0x7F80
    return np.isnan(x) if t.is_float else np.zeros(x.shape, bool)


def ways_of(name: str) -> list[Signature]:
    return list(signatures(name))


@pytest.mark.cpu
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_kernel_computes_what_evaluate_says(name: str) -> None:
    # One kernel for all types that the op takes: out[k][i] = op(in[k][0][i], ...).
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
    found = run(m.done(), COUNT, *inputs)
    assert (found.fault is not None) == (TABLE[name].effects == Effect.FAULT)
    for way, got, want in zip(ways, outputs, expected, strict=True):
        assert same_bits(way.result, got, np.ascontiguousarray(want)), way


@pytest.mark.cpu
def test_templates_serve_eight_lanes() -> None:
    llvm = binding()
    functions = []
    for number, way in enumerate(way for name in FUNCTIONS for way in ways_of(name)):
        w = Writer(width=8)
        names = [f"%a{k}" for k in range(len(way.operands))]
        parameters = ", ".join(
            f"{w.type(t)} {name}" for t, name in zip(way.operands, names, strict=True)
        )
        op = Op(way.op, tuple(map(Value, way.operands)), (Value(way.result),), dict(way.attrs))
        result = lower_op(TABLE[way.op], w, op, *names)
        t = w.type(way.result)
        assert t == f"<8 x {scalar_type(way.result)}>"
        body = "\n".join([*w.lines, f"  ret {t} {result}"])
        functions.append(f"define {t} @f{number}({parameters}) {{\n{body}\n}}")
    llvm.parse_assembly("\n".join(functions), llvm.create_context()).verify()


@pytest.mark.cpu
@pytest.mark.parametrize("t", SCALARS, ids=str)
def test_constants_keep_every_bit(t: Scalar) -> None:
    if t is b1:
        values = [True, False]
    elif t.is_integer:
        values = [0, 1, t.lowest, t.highest, t.highest - 1, t.highest // 3]
    else:
        tiny, big = {"f16": (6e-8, 65504.0), "bf16": (1e-40, 3e38)}.get(t.name, (1e-45, 3e38))
        values = [0.0, -0.0, 1.0, -1 / 3, tiny, big, math.inf, -math.inf, math.nan]
        if t.bits == 64:
            values += [5e-324, -1.7976931348623157e308, 0.1]
    m = Make(y=Array(t, 1))
    for k, value in enumerate(values):
        m.store(m.y, m.const(i32, k), m.const(t, value))
    y = np.ones(len(values), t.carrier)
    assert run(m.done(0), 1, y).fault is None
    expected = np.array([np.float32(t(v)) if t is bf16 else t(v) for v in values])
    if t is bf16:
        expected = (expected.view(np.uint32) >> 16).astype(np.uint16)
    assert same_bits(t, y, expected.astype(t.carrier))


@pytest.mark.cpu
@pytest.mark.parametrize("t", SCALARS, ids=str)
def test_scalars_come_by_value_and_through_memory(t: Scalar) -> None:
    # Parameters of odd sizes before and behind, so that a wrong offset shows.
    m = Make(before=SCALARS[1], x=t, after=SCALARS[2], s=Array(t, 1), y=Array(t, 1))
    i = m.tid()
    zero, one = m.const(i32, 0), m.const(i32, 1)
    m.store(m.y, zero, m.x)
    m.store(m.y, one, m.load(m.s, i))
    x = {"b": True, "i": -3, "u": 200, "f": -2.5}[t.kind]
    source = sample(t, 5)[:1]
    y = np.zeros(2, t.carrier)
    run(m.done(), 1, -1, x, -1, source, y)
    want = np.array([t(x)]) if t is not bf16 else np.array([0xC020], np.uint16)
    assert same_bits(t, y[:1], want)
    assert same_bits(t, y[1:], source)


@pytest.mark.cpu
def test_a_byte_that_is_not_zero_is_true() -> None:
    # Foreign memory may hold any byte in a bool array.
    m = Make(x=Array(b1, 1), n=Array(b1, 1), y=Array(i32, 1), by_value=b1)
    i = m.tid()
    x = m.load(m.x, i)
    m.store(m.y, i, m.op("select", x, m.const(i32, 7), m.const(i32, 9)))
    m.store(m.n, i, m.op("inot", x))
    raw = np.array([0, 1, 2, 128, 255], np.uint8)
    n, y = np.full(5, 77, np.uint8), np.zeros(5, np.int32)
    run(m.done(), 5, raw.view(bool), n.view(bool), y, True)
    assert y.tolist() == [9, 7, 7, 7, 7]
    assert n.tolist() == [1, 0, 0, 0, 0]
