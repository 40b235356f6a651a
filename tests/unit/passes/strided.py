"""Random kernels with a loop over elements some steps apart, at all ends of its indices."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from unit.codegen.harness import Make

from heald.interp import ArrayView
from heald.interp.memory import c_strides
from heald.ir import Kernel, Value
from heald.types import Array, Scalar, Type, Vector, f32, i32, i64

LONG = 1 << 33
"""Extent of an array all of whose elements are one: sums of i32 wrap inside it."""


def strided_kernel(seed: int) -> Kernel:
    """One load or several of a loop, added up in order; guards are those of the front end."""
    rng = random.Random(seed)
    t = rng.choice([i32, i32, i32, i64])
    params: dict[str, Type] = {
        "a": Array(f32, 1),
        "b": Array(f32, 2),
        "v": Array(Vector(f32, 3), 1),
        "z": Array(f32, 1),
        "out": Array(f32, 1),
        **dict.fromkeys(("lo", "hi", "step", "c"), t),
    }
    m = Make("strided", **params)
    i = m.tid()
    low, high = m.lo, m.hi
    if rng.random() < 0.5:
        low = m.op("iadd", low, i if t is i32 else m.op("sext", i, type=i64))
    if rng.random() < 0.4:
        high = m.emit("dim", rng.choice([m.a, m.v]), types=[t], axis=0)
    step = m.step if rng.random() < 0.6 else m.const(t, rng.choice([1, 1, 2, 3, -1, -2, 0]))

    def index(k: Value) -> Value:
        pick, at = rng.randrange(8), k
        if pick == 0:
            return rng.choice([m.c, i, m.const(t, rng.choice([0, 3]))])
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            name = rng.choice(["iadd", "iadd", "isub"])
            more = rng.choice([m.c, m.const(t, rng.choice([1, 2, -1, 7]))])
            if t is i32 and rng.random() < 0.2:
                more = i
            pair = (at, more) if name == "isub" or rng.random() < 0.7 else (more, at)
            at = m.op(name, *pair)
        return at

    def body(k: Value, *totals: Value) -> list[Value]:
        found = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            kind = rng.choice("aaabbvz")
            at = [i, index(k)] if kind == "b" else [index(k)]
            leaf = {"leaf": rng.randrange(3)} if kind == "v" else {}
            found.append(m.load(m.params[kind], *at, **leaf))
        sums = list(totals)
        for n, x in enumerate(found):
            sums[n % len(sums)] = m.op("fadd", sums[n % len(sums)], x)
        if rng.random() < 0.2:
            positive = m.op("fcmp", sums[0], m.const(f32, 0.0), pred="ogt")
            (sums[0],) = m.if_(
                positive,
                lambda: [m.op("fadd", sums[0], m.load(m.a, index(k)))],
                lambda: [sums[0]],
                [f32],
            )
        if len(sums) > 1 and rng.random() < 0.5:
            sums.reverse()
        return sums

    starts = [m.const(f32, 0.5) for _ in range(rng.choice([1, 1, 2]))]
    if rng.random() < 0.3:  # a thread that has faulted leaves the loop at its first back edge
        starts[0] = m.load(m.a, m.c)
    results = m.for_(low, high, step, starts, body)
    m.store(m.out, i, results[0])
    return m.done()


def strided_launch(
    kernel: Kernel, seed: int, *, long: bool = True
) -> tuple[tuple[int, ...], list[Any]]:
    """Dims and arguments for it, some of them at the ends of their types.

    ``long`` arrays have one element only, again and again.
    """
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    count = rng.choice([1, 3, 5])
    extent = rng.choice([0, 1, 2, 5, 8, 13, 30])
    args: list[Any] = []
    for parameter in kernel.params:
        name, of = kernel.names[parameter], parameter.type
        if isinstance(of, Array):
            shape = {"b": (count, extent), "out": (count,)}.get(name, (extent,))
            if name == "z" and long and rng.random() < 0.5:
                buffer = np.full(4, 7, np.uint8)
                extents = (rng.choice([1 << 31, LONG]),)
                args.append(ArrayView(buffer, 0, extents, (0,), f32))
                continue
            strides = c_strides(of.dtype, shape)
            size = max(1, int(np.prod(shape))) * 12
            view = ArrayView(np.zeros(size, np.uint8), 0, shape, strides, of.dtype)
            for leaf in range(3 if name == "v" else 1):
                view.leaf(leaf)[...] = numbers.normal(size=shape).astype(np.float32)
            args.append(view)
            continue
        assert isinstance(of, Scalar)
        small = {
            "lo": [0, 0, 0, 0, 1, 2, -1, extent, extent - 1],
            "hi": [extent, extent, extent, extent - 1, extent + 1, 4, 0, -1],
            "step": [1, 1, 2, 3, 7, -1],
            "c": [0, 1, -1, 2, extent],
        }[name]
        far = {
            "lo": [of.highest - 20, of.highest, of.lowest, -3],
            "hi": [of.highest, of.lowest, of.highest - 3],
            "step": [of.highest, of.lowest, 0, 1 << 30],
            "c": [of.highest, of.lowest, 1 << 30],
        }[name]
        args.append(rng.choice(small if rng.random() < 0.85 else far))
    return (count,), args
