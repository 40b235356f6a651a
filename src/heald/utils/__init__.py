"""Host tools that launch kernels: sums, inner products, scans, sorts, run-length encoding.

Every result has the same bits on every device: work is cut into chunks and lanes of fixed sizes,
which are combined in order, and the cut never depends on the number of threads.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import heald as wp
from heald.api.array_memory import is_same, overlap
from heald.api.edge import guard
from heald.api.scalars import integer_of
from heald.utils import blocks
from heald.utils.blocks import DIGIT_BITS, DIGITS, ascending
from heald.utils.checks import (
    check_addends,
    check_arrays,
    check_count,
    name_of,
    refused,
)

CHUNK = 4096
"""Elements that are added up together."""
LANES = 64
"""Threads that share the elements of a chunk: each takes every 64th, so neighbours read neighbours
(one vector instruction on a CPU, one transaction on a GPU)."""
SORT_CHUNK = 16384
"""Elements that one thread sorts into digits."""

_WHOLE = (wp.int32, wp.uint32, wp.int64, wp.uint64)
"""Types whose sums wrap, so that the order does not show."""
_BITS = {wp.float32: wp.uint32, wp.float64: wp.uint64}
"""What holds the bits of keys that are floats."""
_VECTOR = wp.types.vector(length=Any, dtype=wp.Scalar)

# -- kernels ---------------------------------------------------------------------------------------


@wp.func
def chunk_end(c: wp.Int, chunk: wp.Int, count: wp.Int):
    """Where chunk ``c`` ends; no overflow, as ``c * chunk < count``."""
    start = c * chunk
    return start + wp.min(chunk, count - start)


@wp.func
def product(x: wp.Scalar, y: wp.Scalar):
    """What one pair adds to an inner product."""
    return x * y


@wp.func
def product(x: _VECTOR, y: _VECTOR):  # noqa: F811, D103 - an overload
    return wp.dot(x, y)


@wp.kernel
def _sum_lanes(values: wp.array(dtype=Any), sums: wp.array(dtype=Any, ndim=2)):
    c, lane = wp.tid()
    start = c * CHUNK
    count = wp.min(CHUNK, values.shape[0] - start)
    total = values.dtype()
    for row in range(0, count - (LANES - 1), LANES):
        total += values[start + (row + lane)]
    rest = count % LANES
    if lane < rest:
        total += values[start + (count - rest + lane)]
    sums[c, lane] = total


@wp.kernel
def _sum_products(
    a: wp.array(dtype=Any), b: wp.array(dtype=Any), sums: wp.array(dtype=Any, ndim=2)
):
    c, lane = wp.tid()
    start = c * CHUNK
    count = wp.min(CHUNK, a.shape[0] - start)
    total = sums.dtype()
    for row in range(0, count - (LANES - 1), LANES):
        i = start + (row + lane)
        total += product(a[i], b[i])
    rest = count % LANES
    if lane < rest:
        i = start + (count - rest + lane)
        total += product(a[i], b[i])
    sums[c, lane] = total


@wp.kernel
def _sum_rows(values: wp.array(dtype=Any, ndim=2), sums: wp.array(dtype=Any)):
    c = wp.tid()
    total = values.dtype()
    for lane in range(values.shape[1]):
        total += values[c, lane]
    sums[c] = total


@wp.kernel
def _sum_axis(values: wp.array(dtype=Any, ndim=3), sums: wp.array(dtype=Any, ndim=2)):
    i, k = wp.tid()
    total = values.dtype()
    for j in range(values.shape[1]):
        total += values[i, j, k]
    sums[i, k] = total


@wp.kernel
def _scan_chunks(
    values: wp.array(dtype=Any),
    starts: wp.array(dtype=Any),
    inclusive: bool,
    out: wp.array(dtype=Any),
):
    c = wp.tid()
    total = starts[c]
    end = chunk_end(c, CHUNK, values.shape[0])
    if inclusive:
        for i in range(c * CHUNK, end):
            total += values[i]
            out[i] = total
    else:
        for i in range(c * CHUNK, end):
            value = values[i]
            out[i] = total
            total += value


@wp.kernel
def _count_digits(keys: wp.array(dtype=Any), shift: int, counts: wp.array(dtype=int, ndim=2)):
    c = wp.tid()
    seen = wp.zeros(shape=DIGITS, dtype=int)
    for i in range(c * SORT_CHUNK, chunk_end(c, SORT_CHUNK, keys.shape[0])):
        key = ascending(keys[i])
        seen[int((key >> type(key)(shift)) & type(key)(DIGITS - 1))] += 1
    for d in range(DIGITS):
        counts[d, c] = seen[d]


@wp.kernel
def _move_by_digit(
    keys: wp.array(dtype=Any),
    values: wp.array(dtype=Any),
    shift: int,
    places: wp.array(dtype=int, ndim=2),
    keys_out: wp.array(dtype=Any),
    values_out: wp.array(dtype=Any),
):
    c = wp.tid()
    place = wp.zeros(shape=DIGITS, dtype=int)
    for d in range(DIGITS):
        place[d] = places[d, c]
    for i in range(c * SORT_CHUNK, chunk_end(c, SORT_CHUNK, keys.shape[0])):
        bits = keys[i]
        key = ascending(bits)
        digit = int((key >> type(key)(shift)) & type(key)(DIGITS - 1))
        to = place[digit]
        place[digit] = to + 1
        if 0 <= to < keys_out.shape[0]:  # unless somebody changes the keys meanwhile
            keys_out[to] = bits
            values_out[to] = values[i]


@wp.func
def rank_of(bits: wp.uint32):
    """The bits of a float as a number in the order of floats; of every NaN the highest."""
    x = wp.cast(bits, wp.float32)
    flipped = wp.uint32(wp.int32(bits) >> 31) | wp.uint32(0x80000000)
    return bits ^ flipped if x == x else ~wp.uint32(0)


@wp.func
def rank_of(bits: wp.uint64):  # noqa: F811, D103 - an overload
    x = wp.cast(bits, wp.float64)
    flipped = wp.uint64(wp.int64(bits) >> 63) | wp.uint64(0x8000000000000000)
    return bits ^ flipped if x == x else ~wp.uint64(0)


@wp.func
def bits_of(rank: wp.uint32):
    """The other way round."""
    return rank ^ (wp.uint32(wp.int32(~rank) >> 31) | wp.uint32(0x80000000))


@wp.func
def bits_of(rank: wp.uint64):  # noqa: F811, D103 - an overload
    return rank ^ (wp.uint64(wp.int64(~rank) >> 63) | wp.uint64(0x8000000000000000))


@wp.kernel
def _floats_to_ranks(keys: wp.array(dtype=Any)):
    i = wp.tid()
    keys[i] = rank_of(keys[i])


@wp.kernel
def _ranks_to_floats(keys: wp.array(dtype=Any)):
    i = wp.tid()
    keys[i] = bits_of(keys[i])


@wp.kernel
def _mark_runs(values: wp.array(dtype=Any), marks: wp.array(dtype=int)):
    i = wp.tid()
    starts = True
    if i > 0:
        starts = values[i] != values[i - 1]
    marks[i] = int(starts)


@wp.kernel
def _write_runs(
    values: wp.array(dtype=Any),
    marks: wp.array(dtype=int),
    runs: wp.array(dtype=int, elem=wp.within(1, "run_values.shape[0]")),
    run_values: wp.array(dtype=Any),
    run_starts: wp.array(dtype=int),
):
    i = wp.tid()
    if marks[i] == 1:
        run_values[runs[i] - 1] = values[i]
        run_starts[runs[i] - 1] = i


@wp.kernel
def _measure_runs(run_starts: wp.array(dtype=int), total: int, run_lengths: wp.array(dtype=int)):
    r = wp.tid()
    end = total
    if r + 1 < run_starts.shape[0]:
        end = run_starts[r + 1]
    run_lengths[r] = end - run_starts[r]


@wp.kernel
def _cast(values: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = out.dtype(values[i])


# -- conversion ------------------------------------------------------------------------------------


def array_cast(in_array: wp.array, out_array: wp.array, count: int | None = None) -> None:
    """Convert elements to the type of another array, as ``out.dtype(x)`` does in a kernel.

    Floats are cut to integers, which saturate; NaN gives 0.

    Args:
        in_array: of any shape and number, vector or matrix type.
        out_array: of the same shape; vectors take numbers for all components.
        count: how many of the first elements to convert, in row-major order.

    Raises:
        LaunchError: shapes or the count do not fit (H0711), or ``out_array`` is read-only (H0705).
        CompileError: one type does not convert to the other.
    """
    check_arrays("array_cast", inputs={"in_array": in_array}, outputs={"out_array": out_array})
    if in_array.shape != out_array.shape:
        raise refused(f"a cast of shape {in_array.shape} cannot go to shape {out_array.shape}")
    size = in_array.size if count is None else integer_of(count)
    if size is None or not 0 <= size <= in_array.size:
        raise refused(f"count={count!r} of an array of shape {in_array.shape}")
    if size == 0:
        return
    given = in_array.contiguous().flatten()[:size]
    made = wp.empty(size, dtype=out_array.dtype, device=out_array.device)
    _launch(_cast, size, given, made)
    if out_array.is_contiguous:
        wp.copy(out_array, made, count=size)
    else:
        whole = out_array.contiguous()
        wp.copy(whole, made, count=size)
        out_array.assign(whole)


# -- sums and scans --------------------------------------------------------------------------------


def array_sum(
    values: wp.array,
    out: wp.array | None = None,
    value_count: int | None = None,
    axis: int | None = None,
) -> Any:
    """The sum of an array of numbers or vectors, of the dtype of the array: integers wrap.

    Without ``axis``, each chunk of 4096 elements is added up as 64 sums in order, of every 64th
    element each, which are added up in order; then the sums of the chunks in the same way.  Along
    an axis, each result is one sum in order.

    Args:
        values: of any shape; only 1-D arrays take ``value_count``.
        out: where to write; of one element without ``axis``, else of the shape of ``values`` with
            extent 1 on ``axis``.  It may lie in the memory of ``values``.
        value_count: how many of the first elements to add up.
        axis: the dimension to sum along.

    Returns:
        The sum as a number or vector, or ``out``; with ``axis`` a new array where ``out`` is None.

    Raises:
        TypingError: no arrays (H0702), or elements that have no sum (H0201).
        LaunchError: a count, axis or ``out`` that does not fit (H0711), is on another device
            (H0704) or read-only (H0705).
    """
    check_arrays(
        "array_sum", inputs={"values": values}, outputs={} if out is None else {"out": out}
    )
    check_addends("array_sum", values)
    if axis is not None:
        return _sum_along(values, out, axis)
    flat = _first(values, value_count, "value_count")
    return _give(_reduce(flat), out)


def _reduce(values: wp.array) -> wp.array:
    """An array of one element: the sum."""
    if values.size == 0:
        return wp.zeros(1, dtype=values.dtype, device=values.device)
    while values.size != 1:
        values = _chunk_sums(values)
    return values


def _chunk_sums(values: wp.array) -> wp.array:
    """The sum of each chunk."""
    count = _chunks(values.size)
    lanes = wp.empty((count, LANES), dtype=values.dtype, device=values.device)
    _launch(_sum_lanes, lanes.shape, values, lanes)
    return _row_sums(lanes)


def _row_sums(lanes: wp.array) -> wp.array:
    sums = wp.empty(lanes.shape[0], dtype=lanes.dtype, device=lanes.device)
    _launch(_sum_rows, sums.size, lanes, sums)
    return sums


def _sum_along(values: wp.array, out: wp.array | None, given: int) -> wp.array:
    axis = integer_of(given)
    if axis is None or not -values.ndim <= axis < values.ndim:
        raise refused(f"axis {given!r} of an array of {values.ndim} dimensions")
    axis %= values.ndim
    shape = values.shape
    outer, inner = 1, 1
    for extent in shape[:axis]:
        outer *= extent
    for extent in shape[axis + 1 :]:
        inner *= extent
    target = (*shape[:axis], 1, *shape[axis + 1 :])
    if out is None:
        out = wp.zeros(target, dtype=values.dtype, device=values.device)
    if out.shape != target or out.dtype != values.dtype or not out.is_contiguous:
        raise refused(f"out must be a contiguous array of shape {target} and the dtype of values")
    if overlap(out, values):
        values = values.clone()
    cut = values.contiguous().reshape((outer, shape[axis], inner))
    _launch(_sum_axis, (outer, inner), cut, out.reshape((outer, inner)))
    return out


def array_inner(
    a: wp.array, b: wp.array, out: wp.array | None = None, count: int | None = None
) -> Any:
    """The sum of the products of two arrays of numbers, or of the dot products of vectors.

    Added up as by :func:`array_sum`.

    Args:
        a: of shape (n,).
        b: of the same shape and dtype.
        out: where to write, of one element.
        count: how many of the first elements to use.

    Returns:
        The inner product, or ``out``.

    Raises:
        TypingError: no arrays (H0702), or elements that have no sum (H0201).
        LaunchError: shapes, dtypes or the count do not fit (H0711); arrays of two devices (H0704),
            or a read-only ``out`` (H0705).
    """
    check_arrays(
        "array_inner", inputs={"a": a, "b": b}, outputs={} if out is None else {"out": out}
    )
    check_addends("array_inner", a)
    x, y = _first(a, count, "count"), _first(b, count, "count")
    if x.shape != y.shape or x.dtype != y.dtype:
        raise refused(
            f"arrays of shape {x.shape} and {y.shape}, dtype {name_of(x)} and {name_of(y)} do not "
            "pair"
        )
    scalar = getattr(getattr(x.dtype, "__heald_type__", x.dtype), "dtype", x.dtype)
    if x.size == 0:
        return _give(wp.zeros(1, dtype=scalar, device=x.device), out)
    lanes = wp.empty((_chunks(x.size), LANES), dtype=scalar, device=x.device)
    _launch(_sum_products, lanes.shape, x, y, lanes)
    return _give(_reduce(_row_sums(lanes)), out)


def array_scan(in_array: wp.array, out_array: wp.array, inclusive: bool = True) -> None:
    """Running sums: ``out[i]`` is the sum of ``in`` up to ``i``, with or without element ``i``.

    Chunks of 4096 elements are summed first as by :func:`array_sum`, their sums are scanned in the
    same way, and each chunk begins with the sum of those before it.

    Args:
        in_array: of shape (n,).
        out_array: of the same shape and dtype; may be ``in_array`` itself, or overlap it.
        inclusive: count element ``i`` in.

    Raises:
        TypingError: no arrays (H0702), or elements that have no sum (H0201).
        LaunchError: shapes or dtypes do not fit (H0711); arrays of two devices (H0704), or a
            read-only ``out_array`` (H0705).
    """
    check_arrays("array_scan", inputs={"in_array": in_array}, outputs={"out_array": out_array})
    check_addends("array_scan", in_array)
    if in_array.ndim != 1 or in_array.shape != out_array.shape:
        raise refused(f"a scan of shape {in_array.shape} cannot go to shape {out_array.shape}")
    if in_array.dtype != out_array.dtype:
        raise refused(f"a scan of {name_of(in_array)} cannot go to {name_of(out_array)}")
    if overlap(in_array, out_array) and not is_same(in_array, out_array):
        in_array = in_array.clone()
    count = _chunks(in_array.size)
    if count and in_array.device.is_cuda and in_array.dtype in _WHOLE:
        blocks.scan(in_array, out_array, inclusive)
    elif count:
        starts = wp.zeros(count, dtype=in_array.dtype, device=in_array.device)
        if count > 1:
            array_scan(_chunk_sums(in_array), starts, inclusive=False)
        _launch(_scan_chunks, count, in_array, starts, inclusive, out_array)


# -- sorts -----------------------------------------------------------------------------------------


def radix_sort_pairs(keys: wp.array, values: wp.array, count: int) -> None:
    """Sort the first ``count`` keys ascending, in place, and move the values along; stable.

    Least significant digit first, 8 bits a pass (Knuth, "The Art of Computer Programming" 3,
    section 5.2.5), on GPUs by blocks of threads.

    Args:
        keys: of shape (at least 2 * count,) and dtype int32, uint32, int64, uint64, float32 or
            float64; what lies behind the first ``count`` is scratch memory.  -0.0 comes before
            0.0, NaNs come last.
        values: of any dtype, as long; ``keys`` itself, or memory of its own.
        count: how many.

    Raises:
        TypingError: no arrays (H0702).
        LaunchError: wrong dtype, too short, overlapping, or a count outside them (H0711); arrays
            of two devices (H0704) or read-only ones (H0705).  Nothing is written.
    """
    check_arrays("radix_sort_pairs", inputs={}, outputs={"keys": keys, "values": values})
    if keys.dtype not in _WHOLE and keys.dtype not in _BITS:
        raise refused(f"keys are integers or floats of 32 or 64 bits, not {name_of(keys)}")
    size = integer_of(count)
    if size is None or not 0 <= size < 1 << 31:
        raise refused(f"count is a number of elements, not {count!r}")
    count = size
    for name, a in (("keys", keys), ("values", values)):
        if a.ndim != 1 or a.size < 2 * count:
            raise refused(f"{name} need {2 * count} elements to sort {count}, not {a.shape}")
    if overlap(keys, values) and not (is_same(keys, values) and keys.dtype == values.dtype):
        raise refused(
            "keys and values share memory: one would overwrite the other", "pass values.clone()"
        )
    if count < 2:
        return
    if keys.dtype in _BITS:
        bits = keys.view(_BITS[keys.dtype])
        _launch(_floats_to_ranks, count, bits)
        _sort_pairs(bits, values, count)
        _launch(_ranks_to_floats, count, bits)
    else:
        _sort_pairs(keys, values, count)


def _sort_pairs(keys: wp.array, values: wp.array, count: int) -> None:
    if keys.device.is_cuda:
        halves = (slice(count), slice(count, 2 * count))
        first, second = ((keys[half], values[half]) for half in halves)
        blocks.sort_pairs((first[0], second[0]), (first[1], second[1]), 8 * keys.itemsize)
        return
    chunks = -(-count // SORT_CHUNK)
    counts = wp.zeros((DIGITS, chunks), dtype=int, device=keys.device)
    places = wp.zeros((DIGITS, chunks), dtype=int, device=keys.device)
    here = (keys[:count], values[:count])
    there = (keys[count : 2 * count], values[count : 2 * count])
    for shift in range(0, 8 * keys.itemsize, DIGIT_BITS):
        _launch(_count_digits, chunks, here[0], shift, counts)
        array_scan(counts.reshape(-1), places.reshape(-1), inclusive=False)
        _launch(_move_by_digit, chunks, *here, shift, places, *there)
        here, there = there, here


def runlength_encode(
    values: wp.array,
    run_values: wp.array,
    run_lengths: wp.array,
    run_count: wp.array | None = None,
    value_count: int | None = None,
) -> int | None:
    """Each run of equal neighbours as its value and its length.

    Args:
        values: of shape (n,), of a number type.
        run_values: of the same dtype, long enough for all runs; may overlap ``values``.
        run_lengths: int32, long enough for all runs; may overlap ``values``.
        run_count: int32 of one element that takes the number of runs.
        value_count: how many of the first elements to encode.

    Returns:
        The number of runs where ``run_count`` is None.

    Raises:
        TypingError: no arrays (H0702).
        LaunchError: dtypes do not fit, or the outputs are too short or overlap (H0711); arrays of
            two devices (H0704), or read-only outputs (H0705).  Nothing is written.
    """
    outputs = {"run_values": run_values, "run_lengths": run_lengths}
    if run_count is not None:
        outputs["run_count"] = run_count
    check_arrays("runlength_encode", inputs={"values": values}, outputs=outputs)
    flat = _first(values, value_count, "value_count")
    if run_values.dtype != flat.dtype or run_lengths.dtype != wp.int32:
        raise refused("run_values has the dtype of values, run_lengths is int32")
    for name, a in (("run_values", run_values), ("run_lengths", run_lengths)):
        if a.ndim != 1:
            raise refused(f"{name} has one dimension, not shape {a.shape}")
    if run_count is not None and (run_count.size != 1 or run_count.dtype != wp.int32):
        raise refused(
            f"run_count is one int32, not {run_count.size} elements of {name_of(run_count)}"
        )
    for (name, a), (other, b) in combinations(outputs.items(), 2):
        if overlap(a, b):
            raise refused(f"{name} and {other} share memory: one would overwrite the other")
    if overlap(run_values, flat):
        flat = flat.clone()
    runs = wp.zeros(flat.size, dtype=int, device=flat.device)
    marks = wp.zeros(flat.size, dtype=int, device=flat.device)
    total = 0
    if flat.size:
        _launch(_mark_runs, flat.size, flat, marks)
        array_scan(marks, runs)
        total = int(runs[flat.size - 1])
        if min(run_values.size, run_lengths.size) < total:
            raise refused(f"{total} runs do not fit run_values and run_lengths")
        starts = wp.zeros(total, dtype=int, device=flat.device)
        _launch(_write_runs, flat.size, flat, marks, runs, run_values[:total], starts)
        _launch(_measure_runs, total, starts, flat.size, run_lengths[:total])
    if run_count is None:
        return total
    run_count.fill_(total)
    return None


# -- helpers ---------------------------------------------------------------------------------------


def _chunks(count: int) -> int:
    return -(-count // CHUNK)


def _launch(kernel: Any, dim: Any, *arguments: Any) -> None:
    wp.launch(kernel, dim=dim, inputs=arguments, device=arguments[0].device)


def _first(values: wp.array, count: int | None, what: str) -> wp.array:
    """The first ``count`` elements, or all elements in one dimension."""
    if count is None:
        return values if values.ndim == 1 else values.contiguous().reshape(-1)
    return values[: check_count(what, count, values)]


def _give(result: wp.array, out: wp.array | None) -> Any:
    if out is None:
        return result[0]
    if out.size != 1 or out.dtype != result.dtype:
        raise refused(f"out takes one {name_of(result)}")
    wp.copy(out, result)
    return out


guard(
    __name__,
    (
        "array_cast",
        "array_inner",
        "array_scan",
        "array_sum",
        "radix_sort_pairs",
        "runlength_encode",
    ),
)
