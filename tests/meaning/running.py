"""Running one kernel in every way that must leave the same bits behind."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from meaning.oracle import Arr, Thread, World
from meaning.values import Composite, Number, cast

from heald.artifact import Artifact, Fault, Symbol
from heald.codegen import LoadedCode, build, host_target, load
from heald.interp import ArrayView, Outcome, run
from heald.interp.memory import c_strides
from heald.ir import Kernel
from heald.runtime import byte_span, launch, packer_of
from heald.types import Array, Scalar, Type, b1, bf16, f64, leaves, size_of
from heald.types.descriptors import from_bfloat16

FUEL = 200_000
MARGIN = 64
"""Bytes around every array that no kernel may touch."""


class Mismatch(AssertionError):
    """Two ways to run a kernel left different things behind."""


# -- arguments -------------------------------------------------------------------------------------

_SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e-310, 3e38, 0.1, -2.5)


def _numbers(t: Scalar, count: int, random: np.random.Generator, wild: bool) -> Any:
    """Carrier values: small numbers mostly, some wild ones where asked."""
    small = random.integers(-6, 12, count)
    odd = random.random(count) < (0.25 if wild else 0.0)
    if t.is_float:
        exact = np.where(random.random(count) < 0.2, small, random.normal(size=count) * 4)
        reals = np.where(odd, random.choice(_SPECIAL, count), exact)
        with np.errstate(all="ignore"):
            if t is bf16:
                return (reals.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            return reals.astype(t.carrier)
    bits = random.integers(0, 1 << 63, count, dtype=np.uint64) << np.uint64(1)
    whole = np.where(odd, bits, small.astype(np.uint64))
    return (whole & np.uint64(1)).astype(bool) if t.kind == "b" else whole.astype(t.carrier)


def random_array(
    t: Array, shape: tuple[int, ...], random: np.random.Generator, *, wild: bool
) -> ArrayView:
    """A filled array between margins, not always contiguous nor rising."""
    size = size_of(t.dtype)
    strides = list(c_strides(t.dtype, shape))
    step = int(random.choice([1, 1, 2]))
    strides = [s * step for s in strides]
    offset = MARGIN
    for axis, extent in enumerate(shape):
        if extent and random.random() < 0.15:
            offset += strides[axis] * (extent - 1)
            strides[axis] = -strides[axis]
    total = 2 * MARGIN + prod(shape) * size * step
    buffer = random.integers(0, 256, total, dtype=np.uint8)
    view = ArrayView(buffer, offset, shape, tuple(strides), t.dtype)
    for k, leaf in enumerate(leaves(t.dtype)):
        assert isinstance(leaf, Scalar)
        view.leaf(k)[...] = _numbers(leaf, prod(shape), random, wild).reshape(shape)
    return view


def random_value(t: Scalar, random: np.random.Generator, *, wild: bool) -> Any:
    """A by-value number."""
    carrier = _numbers(t, 1, random, wild)[0]
    return (from_bfloat16(carrier) if t is bf16 else carrier).item()


Place = Callable[[Any], Any]
"""Gives a buffer of the same bytes in memory of its own."""


def copied(args: Sequence[Any], copies: dict[int, Any], place: Place = np.copy) -> list[Any]:
    """The same arguments in memory of their own; views of one buffer stay views of one buffer."""

    def copy(a: Any) -> Any:
        if isinstance(a, tuple):
            return tuple(copy(x) for x in a)
        if not isinstance(a, ArrayView):
            return a
        if id(a.buffer) not in copies:
            copies[id(a.buffer)] = place(a.buffer)
        return ArrayView(copies[id(a.buffer)], a.offset, a.shape, a.strides, a.dtype)

    return [copy(a) for a in args]


def tight(args: Sequence[Any]) -> list[Any]:
    """The same arguments, each array in a buffer that begins and ends with it."""

    def cut(a: Any) -> Any:
        if isinstance(a, tuple):
            return tuple(cut(x) for x in a)
        if not isinstance(a, ArrayView):
            return a
        low, high = byte_span(a.shape, a.strides, size_of(a.dtype))
        buffer = a.buffer[a.offset + low : a.offset + high].copy()
        return ArrayView(buffer, -low, a.shape, a.strides, a.dtype)

    return [cut(a) for a in args]


def fenced(buffer: Any, *, at_end: bool) -> Any:
    """A copy between pages that cannot be touched, at the end or the start of what lies there."""
    pages = max(1, -(-buffer.nbytes // mmap.PAGESIZE))
    memory = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
    whole = np.frombuffer(memory, np.uint8)
    for fence in (0, pages + 1):
        address = ctypes.c_void_p(whole.ctypes.data + fence * mmap.PAGESIZE)
        assert ctypes.CDLL(None).mprotect(address, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    end = (pages + 1) * mmap.PAGESIZE if at_end else mmap.PAGESIZE + buffer.nbytes
    there = whole[end - buffer.nbytes : end]
    there[:] = buffer
    return there


# -- what a run leaves behind ----------------------------------------------------------------------


@dataclass
class Left:
    """Memory, by parameter, NaNs made equal; the fault; and what was printed."""

    memory: list[bytes]
    fault: Fault | None
    printed: list[Any]
    views: list[Any] = field(default_factory=list)


def _left(
    kernel: Kernel, args: Sequence[Any], fault: Fault | None, printed: Sequence[Any] = ()
) -> Left:
    memory, views = [], []
    for parameter, a in zip(kernel.params, args, strict=True):
        for view in a if isinstance(a, tuple) else (a,):
            if isinstance(view, ArrayView):
                _equalise_nans(view)
                memory.append(view.buffer.tobytes())
                views.append((kernel.name_of(parameter), view))
    records = [(r.thread, r.sequence, r.op_id, *map(repr, r.values)) for r in printed]
    return Left(memory, fault, records, views)


def _equalise_nans(view: ArrayView) -> None:
    for k, leaf in enumerate(leaves(view.dtype)):
        assert isinstance(leaf, Scalar)
        cells = view.leaf(k)
        if leaf is bf16:
            cells[(cells & 0x7FFF) > 0x7F80] = 0x7FC0
        elif leaf.is_float:
            cells[np.isnan(cells)] = np.nan


def compare(
    what: str, expected: Left, found: Left, *, fault: bool = True, printed: bool = True
) -> None:
    """Raise where two runs differ."""
    if fault and expected.fault != found.fault:
        raise Mismatch(f"{what}: fault {found.fault}, expected {expected.fault}")
    if printed and expected.printed != found.printed:
        raise Mismatch(f"{what}: printed {found.printed}, expected {expected.printed}")
    for number, (one, two) in enumerate(zip(expected.memory, found.memory, strict=True)):
        if one != two:
            raise Mismatch(f"{what}: {_difference(expected.views[number], found.views[number])}")


def _difference(expected: Any, found: Any) -> str:
    name, one = expected
    _, two = found
    for k in range(len(leaves(one.dtype))):
        a, b = one.leaf(k), two.leaf(k)
        differ = np.argwhere(a.view(f"u{a.itemsize}") != b.view(f"u{a.itemsize}"))
        if len(differ):
            at = tuple(int(x) for x in differ[0])
            return f"{name}{list(at)} leaf {k} is {b[at]!r}, expected {a[at]!r}"
    return f"the memory around {name} was changed"


# -- ways to run -----------------------------------------------------------------------------------


def interpret(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[Any],
    how: Callable[..., Outcome] = run,
    fuel: int = FUEL,
    **options: Any,
) -> Left:
    """By the interpreter, the whole grid at once or thread after thread."""
    own = copied(args, {})
    outcome = how(kernel, dims, own, fuel=fuel, **options)
    fault = outcome.faults[0] if outcome.faults else None
    return _left(kernel, own, fault, outcome.printed)


Code = tuple[Artifact, LoadedCode]


def machine_code(
    kernel: Kernel, *, wide: Kernel | None = None, blocks: Kernel | None = None
) -> Code:
    """The code of a kernel; ``kernel`` is what the scalar generator takes, ``wide`` that of
    vectors, and ``blocks`` that of phases where threads of a block meet."""
    artifact = build(kernel, host_target(), wide=wide, blocks=blocks)
    return artifact, load(artifact)


def execute(
    kernel: Kernel,
    dims: Sequence[int],
    args: Sequence[Any],
    *,
    wide: Kernel | None = None,
    blocks: Kernel | None = None,
    code: Code | None = None,
    place: Place = np.copy,
    **options: Any,
) -> Left:
    """By machine code: that of the kernel in these forms, unless it has been made before."""
    artifact, loaded = code or machine_code(kernel, wide=wide, blocks=blocks)
    own = copied(args, {}, place)
    words: list[Any] = []
    for a in own:
        for x in a if isinstance(a, tuple) else (a,):
            if isinstance(x, ArrayView):
                words += [x.buffer.ctypes.data + x.offset, *x.shape, *x.strides]
            else:
                words.append(x)
    packed = packer_of(artifact).pack(words)
    outcome = launch(loaded.address, artifact, packed, tuple(dims), **options)
    return _left(kernel, own, outcome.fault, outcome.printed.records)


Tables = dict[tuple[int, int], tuple[ArrayView, list[Any]]]
"""The elements of each array as Python sees them, by buffer and offset."""


def by_python(
    world: World, kernel: Kernel, dims: Sequence[int], args: Sequence[Any]
) -> tuple[Left, list[Thread]]:
    """By Python (``meaning.oracle``); the faults of threads are a kind and a line only."""
    own = copied(args, {})
    tables: Tables = {}
    given = [_for_python(p.type, a, tables) for p, a in zip(kernel.params, own, strict=True)]
    threads = world.run(kernel.name, dims, given)
    for view, cells in tables.values():
        _write_back(view, cells)
    return _left(kernel, own, None), threads


def _for_python(t: Type, a: Any, tables: Tables) -> Any:
    if isinstance(a, ArrayView):
        assert isinstance(t, Array)
        return _array_for_python(t, a, tables)
    if isinstance(t, Scalar):
        return cast(_double(a) if t.is_float else a, t)
    parts = [_for_python(leaf, x, tables) for leaf, x in zip(leaves(t), a, strict=True)]
    return Composite(t, tuple(parts))


def _double(x: float) -> Number:
    return Number(f64, int(np.float64(x).view(np.uint64)))


def _number(t: Scalar, x: Any) -> Number:
    if t is b1 or t is bf16:
        return Number(t, int(x))
    return Number(t, int(np.asarray(x, t.carrier).view(f"u{t.bits // 8}")))


def _array_for_python(t: Array, view: ArrayView, tables: Tables) -> Arr:
    """Elements of a view as a list; the same list for equal views of one buffer."""
    key = (id(view.buffer), view.offset)
    if key not in tables:
        kinds = [leaf for leaf in leaves(t.dtype) if isinstance(leaf, Scalar)]
        columns = [np.ascontiguousarray(view.leaf(k)).ravel() for k in range(len(kinds))]
        cells = []
        for row in zip(*columns, strict=True):
            parts = tuple(map(_number, kinds, row))
            cells.append(parts[0] if isinstance(t.dtype, Scalar) else Composite(t.dtype, parts))
        tables[key] = (view, cells)
    strides = tuple(prod(view.shape[k + 1 :]) for k in range(t.ndim))
    return Arr(t.dtype, tables[key][1], 0, view.shape, strides)


def _write_back(view: ArrayView, cells: Sequence[Any]) -> None:
    for k, leaf in enumerate(leaves(view.dtype)):
        assert isinstance(leaf, Scalar)
        bits = [(c.parts[k] if isinstance(c, Composite) else c).bits for c in cells]
        if leaf is b1:
            column = np.array(bits, bool)
        else:
            column = np.array(bits, f"u{leaf.bits // 8}").view(leaf.carrier)
        view.leaf(k)[...] = column.reshape(view.shape)


# -- all of them -----------------------------------------------------------------------------------


def looked_up(kernel: Kernel, dims: Sequence[int], args: Sequence[Any]) -> Callable[[Symbol], int]:
    """What the symbols of a launch condition stand for."""

    def number(symbol: Symbol) -> int:
        if symbol.kind == "dim":
            return dims[symbol.axis] if symbol.axis < len(dims) else 1
        a = args[symbol.parameter]
        leaf = a[symbol.leaf] if isinstance(a, tuple) else a
        return leaf.shape[symbol.axis] if symbol.kind == "shape" else int(leaf)

    return number
