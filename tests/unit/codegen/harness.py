"""Writing small kernels, and running their machine code on numpy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from heald.artifact import Artifact, Fault, FaultKind, abi
from heald.codegen import build, host_target, load
from heald.diagnostics import Span
from heald.ir import Builder, Kernel, Value, check
from heald.ops import TABLE
from heald.types import (
    Array,
    Scalar,
    Type,
    i32,
    leaf_offsets,
    leaves,
    parameter_layout,
)
from heald.types.descriptors import to_bfloat16

# ------------------------------------------------------------------------------ writing kernels


class Make:
    """A kernel in the making; parameters are attributes.

    Bodies of regions are functions that return the values to yield, or None when they have left
    by :meth:`leave`.
    """

    def __init__(self, name: str = "kernel", /, **params: Type) -> None:
        self.name = name
        self.params = {n: Value(t) for n, t in params.items()}
        self.builder = Builder(TABLE)
        self.builder.open()

    def __getattr__(self, name: str) -> Value:
        try:
            return self.params[name]
        except KeyError:
            raise AttributeError(name) from None

    def op(self, name: str, *operands: Value, type: Type | None = None, **attrs: Any) -> Value:
        return self.builder.op(name, *operands, type=type, **attrs)

    def emit(self, name: str, *operands: Value, types: Sequence[Type] = (), **attrs: Any) -> Any:
        results = self.builder.emit(name, operands, types, (), **attrs)
        return results[0] if len(results) == 1 else results

    def const(self, t: Scalar, value: bool | int | float) -> Value:
        return self.builder.const(t, value)

    def tid(self, axis: int = 0, t: Scalar = i32) -> Value:
        return self.emit("tid", types=[t], axis=axis)

    def load(self, array: Value, *index: Value, **attrs: Any) -> Value:
        t = leaves(array.type.dtype)[attrs.get("leaf", 0)]
        return self.emit("load", array, *index, types=[t], **attrs)

    def store(self, array: Value, *rest: Value, **attrs: Any) -> None:
        self.emit("store", array, *rest, **attrs)

    def atomic(self, kind: str, array: Value, *rest: Value, **attrs: Any) -> Value:
        t = leaves(array.type.dtype)[attrs.get("leaf", 0)]
        return self.emit(f"atomic_{kind}", array, *rest, types=[t], **attrs)

    def region(self, args: Sequence[Value], body: Callable[..., Any]) -> Any:
        self.builder.open()
        given = body(*args)
        if given is not None:
            self.emit("yield", *given)
        return self.builder.close(args)

    def if_(
        self,
        condition: Value,
        then: Callable[[], Any],
        other: Callable[[], Any] = list,
        types: Sequence[Type] = (),
    ) -> tuple[Value, ...]:
        arms = [self.region((), then), self.region((), other)]
        return self.builder.emit("if", (condition,), types, arms)

    def for_(
        self, lo: Value, hi: Value, step: Value, inits: Sequence[Value], body: Any, **attrs: Any
    ) -> tuple[Value, ...]:
        args = [Value(lo.type), *(Value(v.type) for v in inits)]
        region = self.region(args, body)
        types = [v.type for v in inits]
        return self.builder.emit("for", (lo, hi, step, *inits), types, [region], **attrs)

    def while_(self, inits: Sequence[Value], condition: Any, body: Any) -> tuple[Value, ...]:
        regions = [self.region([Value(v.type) for v in inits], part) for part in (condition, body)]
        return self.builder.emit("while", inits, [v.type for v in inits], regions)

    def scope(self, types: Sequence[Type], body: Any) -> tuple[Value, ...]:
        return self.builder.emit("scope", (), types, [self.region((), body)])

    def leave(self, how: str, *values: Value) -> None:
        self.emit(how, *values)

    def at(self, line: int, col: int = 0, file: str = "user.py", call: Span | None = None) -> None:
        """Let the ops that follow come from a place in the source."""
        self.builder.span = Span(file, line, col, line, col + 1, call)

    def done(self, rank: int = 1, span: Span | None = None) -> Kernel:
        self.emit("return")
        names = {v: n for n, v in self.params.items()}
        params = tuple(self.params.values())
        kernel = Kernel(self.name, params, self.builder.close(), rank=rank, names=names, span=span)
        check(kernel, TABLE)
        return kernel


# ------------------------------------------------------------------------------ running kernels


@dataclass
class Result:
    """What a launch left behind besides memory."""

    fault: Fault | None
    printed: list[tuple[int, ...]]
    dropped: int


_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
LAUNCHER = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, *[ctypes.c_int32] * 2)
PRINT_CAPACITY = 4096


@cache
def compiled(kernel: Kernel, wide: Kernel | None = None) -> tuple[Artifact, Any]:
    """The artifact of a kernel and its loaded code; with ``wide`` of its widened form."""
    artifact = build(kernel, host_target(), wide=wide)
    return artifact, load(artifact)


def scalar_bytes(t: Scalar, value: Any) -> bytes:
    """A by-value scalar as it lies in the argument block."""
    if t.name == "bf16":
        return np.uint16(to_bfloat16(value)).tobytes()
    return np.asarray(value).astype(t.carrier).tobytes()


def array_words(t: Array, array: np.ndarray) -> bytes:
    """An array as it lies in the argument block."""
    words = [array.ctypes.data, *array.shape[: t.ndim], *array.strides[: t.ndim]]
    return np.array(words, np.int64).tobytes()


def pack(kernel: Kernel, args: Sequence[Any]) -> bytes:
    """The argument block: a composite argument is the sequence of its leaves."""
    types = [p.type for p in kernel.params]
    offsets, size = parameter_layout(types)
    block = bytearray(size)
    for t, at, arg in zip(types, offsets, args, strict=True):
        parts = arg if not isinstance(t, Scalar | Array) else [arg]
        for leaf, inner, part in zip(leaves(t), leaf_offsets(t), parts, strict=True):
            raw = array_words(leaf, part) if isinstance(leaf, Array) else scalar_bytes(leaf, part)
            block[at + inner : at + inner + len(raw)] = raw
    return bytes(block)


class Launch:
    """Header, fault record, print buffer and arguments of one launch."""

    def __init__(
        self,
        kernel: Kernel,
        dims: Sequence[int],
        args: Sequence[Any],
        block_dim: int = 256,
        resources: np.ndarray | None = None,
        print_capacity: int = PRINT_CAPACITY,
        wide: Kernel | None = None,
    ) -> None:
        self.kernel = kernel
        self.wide = wide
        self.total = prod(dims)
        self.args = ctypes.create_string_buffer(pack(kernel, args) + b"\0" * 8)
        self.fault = np.zeros(abi.FAULT_SIZE // 8, np.int64)
        self.fault[abi.FAULT_THREAD // 8] = abi.NO_THREAD
        self.print = np.zeros(abi.PRINT_DATA // 8 + print_capacity // 8, np.int64)
        self.print[abi.PRINT_CAPACITY // 8] = print_capacity
        self.resources = np.zeros(1, np.uint64) if resources is None else resources
        self.header = np.zeros(abi.HEADER_SIZE // 8, np.int64)
        self.header[:4] = [*dims, *[1] * (4 - len(dims))]
        self.header.view(np.int32)[abi.HEADER_BLOCK_DIM // 4] = block_dim
        self.header[abi.HEADER_FAULT // 8] = self.fault.ctypes.data
        self.header[abi.HEADER_RESOURCES // 8] = self.resources.ctypes.data
        self.header[abi.HEADER_PRINT // 8] = self.print.ctypes.data
        self.keep = args

    @property
    def pointers(self) -> tuple[int, int]:
        return self.header.ctypes.data, ctypes.addressof(self.args)

    def compiled(self) -> tuple[Artifact, Any]:
        return compiled(self.kernel) if self.wide is None else compiled(self.kernel, self.wide)

    def run(self, lo: int = 0, hi: int | None = None) -> None:
        """Run the threads lo to hi in this thread."""
        _, code = self.compiled()
        _ENTRY(code.address)(*self.pointers, lo, self.total if hi is None else hi)

    def share(self, launcher: int, cores: int, grain: int = 0) -> None:
        """Run all threads by a parallel launcher."""
        _, code = self.compiled()
        LAUNCHER(launcher)(code.address, *self.pointers, self.total, cores, grain)

    def result(self) -> Result:
        lock, count, thread, op, kind, rank = map(int, self.fault[:6])
        assert lock == 0
        index, shape = self.fault[6:10], self.fault[10:14]
        fault = None
        if count:
            where = [tuple(int(x) for x in words[:rank]) for words in (index, shape)]
            fault = Fault(FaultKind(kind), op, thread, *where, count)
        _, used, dropped = map(int, self.print[:3])
        return Result(fault, self._records(used // 8), dropped)

    def _records(self, words: int) -> list[tuple[int, ...]]:
        artifact, _ = self.compiled()
        data, found, at = self.print[abi.PRINT_DATA // 8 :], [], 0
        while at < words:
            size = 3 + len(artifact.formats[int(data[at + 2])].kinds)
            found.append(tuple(int(x) for x in data[at : at + size]))
            at += size
        return found


def run(kernel: Kernel, dims: int | Sequence[int], *args: Any, **options: Any) -> Result:
    """Launch a kernel on all its threads."""
    dims = (dims,) if isinstance(dims, int) else dims
    launch = Launch(kernel, dims, args, **options)
    launch.run()
    return launch.result()
