"""Reading the resource table by handles, good and bad."""

import numpy as np
import pytest
from unit.codegen.harness import Make, run

from heald.artifact import FaultKind, abi
from heald.types import Array, Scalar, Vector, b1, f32, f64, i32, i64, u8, u64

pytestmark = pytest.mark.cpu

KIND, GENERATION, INDEX = 7, 3, 5
HANDLE = KIND << abi.HANDLE_KIND_SHIFT | GENERATION << abi.HANDLE_GENERATION_SHIFT | INDEX
BAD = [
    0,
    HANDLE + 1,  # a free record
    HANDLE + (1 << abi.HANDLE_GENERATION_SHIFT),  # stale
    HANDLE + (1 << abi.HANDLE_KIND_SHIFT),  # another kind
    HANDLE | 0xFFFF_FFFF,  # far outside the table
    HANDLE - INDEX + abi.RESOURCE_CAPACITY,  # just outside
    (1 << 64) - 1,
]


def table() -> np.ndarray:
    """An empty table, and behind it a record that a handle just outside would find good."""
    words = np.zeros((abi.RESOURCE_CAPACITY + 1) * abi.RESOURCE_SIZE // 8, np.uint64)
    record(words, abi.RESOURCE_CAPACITY)[0] = HANDLE - INDEX + abi.RESOURCE_CAPACITY
    return words


def record(words: np.ndarray, index: int = INDEX) -> np.ndarray:
    size = abi.RESOURCE_SIZE // 8
    return words[index * size : (index + 1) * size]


def put_array(words: np.ndarray, slot: int, array: np.ndarray, index: int = INDEX) -> None:
    at = (abi.RESOURCE_ARRAYS + slot * abi.RESOURCE_ARRAY_SIZE) // 8
    record(words, index)[at : at + 3] = [array.ctypes.data, len(array), array.strides[0]]


def test_arrays() -> None:
    m = Make(h=Array(u64, 1), y=Array(f32, 2))
    i = m.tid()
    dtype = Vector(f32, 2)
    cells = m.emit("resource_array", m.load(m.h, i), types=[Array(dtype, 1)], kind=KIND, slot=2)
    m.store(m.y, i, m.const(i32, 0), m.load(cells, m.const(i32, 1), leaf=1))
    extent = m.op("sitofp", m.emit("dim", cells, types=[i32], axis=0), type=f32)
    m.store(m.y, i, m.const(i32, 1), extent)
    kernel = m.done()
    words = table()
    record(words)[0] = HANDLE
    data = np.arange(12, dtype=np.float32).reshape(6, 2)[::2]
    for index in (INDEX, abi.RESOURCE_CAPACITY):
        put_array(words, 2, data, index)
    handles = np.array([HANDLE, *BAD, HANDLE], np.uint64)
    y = np.full((len(handles), 2), -1, np.float32)
    fault = run(kernel, len(handles), handles, y, resources=words).fault
    assert y.tolist() == [[5, 3], *[[0, 0]] * len(BAD), [5, 3]]
    assert fault.kind is FaultKind.HANDLE
    assert (fault.thread, fault.index, fault.count) == (1, (), len(BAD))


@pytest.mark.parametrize("t", [b1, u8, i32, i64, f32, f64], ids=str)
def test_scalars_lie_in_the_low_bytes(t: Scalar) -> None:
    m = Make(h=u64, y=Array(t, 1))
    value = m.emit("resource_scalar", m.h, types=[t], kind=KIND, slot=7)
    m.store(m.y, m.tid(), value)
    kernel = m.done()
    words = table()
    record(words)[0] = HANDLE
    stored = np.array([{"b": True, "f": -1.25}.get(t.kind, 77)]).astype(t.carrier)
    raw = record(words).view(np.uint8)[abi.RESOURCE_SCALARS + 7 * 8 :][: t.carrier.itemsize]
    raw[:] = stored.view(np.uint8)
    for handle, expected in [(HANDLE, stored.tolist()), (BAD[1], [t(0).item()])]:
        y = np.ones(1, t.carrier)
        fault = run(kernel, 1, handle, y, resources=words).fault
        assert y.tolist() == expected
        assert (fault is None) == (handle == HANDLE)


def test_without_a_guard_the_handle_is_trusted() -> None:
    m = Make(h=u64, y=Array(i32, 1))
    value = m.emit("resource_scalar", m.h, types=[i32], kind=KIND, slot=0, id=1, guard=False)
    m.store(m.y, m.tid(), value)
    words, y = table(), np.zeros(1, np.int32)
    record(words)[:2] = [HANDLE, 12]
    assert run(m.done(), 1, HANDLE, y, resources=words).fault is None
    assert y.tolist() == [12]
