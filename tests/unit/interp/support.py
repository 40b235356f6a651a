"""Kernels from text, and running them in every way that must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heald.interp import ArrayView, Outcome, run, run_serial
from heald.ir import Kernel, check, parse
from heald.ops import TABLE
from heald.types import Array, Type, array_leaves


def wir(text: str) -> Kernel:
    """A well-formed kernel."""
    kernel = parse(text, TABLE)
    check(kernel, TABLE)
    return kernel


def same_bits(a: Any, b: Any) -> bool:
    """Equal bits, but NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    unsigned = f"u{a.itemsize}"
    equal = np.ascontiguousarray(a).view(unsigned) == np.ascontiguousarray(b).view(unsigned)
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())


def argument(t: Type, value: Any) -> Any:
    """A copy of ``value`` as a launch argument; numpy arrays become views of their copies."""
    if isinstance(value, ArrayView):
        written = None if value.written is None else value.written.copy()
        buffer = value.buffer.copy()
        return ArrayView(buffer, value.offset, value.shape, value.strides, value.dtype, written)
    if isinstance(value, np.ndarray):
        assert isinstance(t, Array)
        fresh = np.zeros(value.shape, value.dtype)  # padding too
        fresh[...] = value
        return ArrayView.from_numpy(fresh, t.dtype)
    if isinstance(value, tuple) and array_leaves(t):
        return tuple(argument(t, v) if isinstance(v, ArrayView) else v for v in value)
    return value


def buffers(args: Sequence[Any]) -> list[Any]:
    """The memory behind arguments."""
    flat = [leaf for a in args for leaf in (a if isinstance(a, tuple) else (a,))]
    return [a.buffer for a in flat if isinstance(a, ArrayView)]


def same_outcome(a: Outcome, b: Outcome) -> bool:
    flat = [_flatten(o.results) for o in (a, b)]
    printed = [
        [(r.thread, r.sequence, r.op_id, *map(repr, r.values)) for r in o.printed] for o in (a, b)
    ]
    return (
        a.faults == b.faults
        and printed[0] == printed[1]
        and len(flat[0]) == len(flat[1])
        and all(map(same_bits, *flat))
    )


def _flatten(results: Any) -> list[Any]:
    if isinstance(results, tuple):
        return [leaf for r in results for leaf in _flatten(r)]
    return [results]


def agree(kernel: Kernel, dims: Sequence[int], args: Sequence[Any], **options: Any) -> list[Any]:
    """Run a kernel at once, in chunks of three and serially; all must leave the same.

    Gives the outcome and, for each argument, the array or number after the run.
    """
    ways: list[tuple[Any, dict[str, Any]]] = [(run, {}), (run, {"chunk": 3}), (run_serial, {})]
    seen = []
    for runner, more in ways:
        own = [argument(p.type, a) for p, a in zip(kernel.params, args, strict=True)]
        seen.append((runner(kernel, dims, own, **options, **more), own))
    outcome, after = seen[0]
    for other, own in seen[1:]:
        assert same_outcome(outcome, other), (outcome, other)
        for mine, theirs in zip(buffers(after), buffers(own), strict=True):
            assert mine.tobytes() == theirs.tobytes()
    shown = [_shown(a, original) for a, original in zip(after, args, strict=True)]
    return [outcome, *shown]


def _shown(value: Any, original: Any) -> Any:
    if not isinstance(value, ArrayView):
        return value
    if not isinstance(original, np.ndarray):
        return value
    array = np.ndarray(
        original.shape, original.dtype, value.buffer.data, value.offset, _strides(value, original)
    )
    return array.copy()


def _strides(value: ArrayView, original: Any) -> tuple[int, ...]:
    inner = original.strides[len(value.shape) :]
    return (*value.strides, *inner)
