"""Random source kernels widened over their threads: the bits and faults of the interpreter.

``HEALD_MEANING_SEED`` sets the first seed, to run a failure again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from meaning.checking import Case, case_of, variants
from meaning.language import lower_text
from meaning.running import (
    Mismatch,
    Place,
    compare,
    execute,
    fenced,
    interpret,
    machine_code,
    tight,
)
from meaning.sources import generate
from meaning.test_random_sources import EACH, FIRST

from heald.artifact import Fault
from heald.interp import ArrayView
from heald.ir import Kernel
from heald.passes import FRONT, SCALAR_CPU, run_pipeline
from heald.passes.coalesce import coalesce
from heald.passes.layout import assume_apart, assume_unit
from heald.passes.pipelines import WIDE_CPU
from heald.types import Array, numpy_dtype, size_of

pytestmark = pytest.mark.cpu
WIDTHS = (4, 8, 16)


def widened(case: Case, width: int) -> Iterator[tuple[str, Kernel, Kernel]]:
    """Each variant that fits the launch: its name, its scalar form and its widened one."""
    front = run_pipeline(case.kernel, FRONT, check=True)
    for name, guarded in variants(front, case.dims, case.args):
        for unit, apart in dict.fromkeys([(False, is_apart(case)), (is_dense(case), False)]):
            kernel = assume_unit(guarded) if unit else guarded
            kernel = assume_apart(kernel) if apart else kernel
            scalar = run_pipeline(kernel, SCALAR_CPU, check=True)
            wide = coalesce(run_pipeline(scalar, WIDE_CPU, check=True), vector_bytes=32)
            reason = str(wide.attrs.get("scalar", ""))
            if not reason or "scattered" in reason:
                lanes = {"width": width, "vectors": 1 + (apart and width > 4)}
                wide = replace(wide, attrs={**wide.attrs, **lanes})
                yield f"{name}{' unit' * unit}{' apart' * apart} of {width}", scalar, wide


def views_of(case: Case) -> list[ArrayView]:
    values = [x for a in case.args for x in (a if isinstance(a, tuple) else (a,))]
    return [view for view in values if isinstance(view, ArrayView)]


def is_dense(case: Case) -> bool:
    return all(view.strides[-1] == size_of(view.dtype) for view in views_of(case))


def is_apart(case: Case) -> bool:
    views = views_of(case)
    return len({id(view.buffer) for view in views}) == len(views)


def examine_widened(case: Case, width: int, places: Sequence[Place] = (np.copy,)) -> int:
    """Raise where a widened variant differs with its arrays in one of some places; gives how many
    variants there were."""
    count = 0
    for name, scalar, wide in widened(case, width):
        count += 1
        expected = interpret(scalar, case.dims, case.args)
        code = machine_code(scalar, wide=wide)
        for place in places:
            found = execute(scalar, case.dims, case.args, code=code, place=place)
            if expected.fault is None:
                compare(f"{name} {place}", expected, found)
            elif not is_explained(found.fault, expected.fault, wide, case):
                raise Mismatch(f"{name} {place}: fault {found.fault}, expected {expected.fault}")
    return count


def is_explained(found: Fault | None, expected: Fault, wide: Kernel, case: Case) -> bool:
    """Is a fault that of the scalar form or, where that drops accesses as dead, of the widened one?

    There, vectors with a fault run again in the scalar form: their first thread that faults in it
    may be another than the first of the whole launch.
    """
    if found == expected:
        return True
    own = interpret(wide, case.dims, case.args).fault
    if found == own:
        return True
    dropped = own is not None and own != expected
    return dropped and found is not None and found.op in (expected.op, own.op)


def test_dead_accesses_fault_where_a_vector_runs_again() -> None:
    seed = 998796965655
    assert examine_widened(case_of(generate(seed), seed, scale=3), 4) == 2


@pytest.mark.parametrize("share", range(5))
def test_widened_kernels_leave_the_same_bits(share: int) -> None:
    count = 0
    for number in range(EACH):
        seed = FIRST + share * EACH + number
        case = case_of(generate(seed), seed, scale=3)
        try:
            count += examine_widened(case, WIDTHS[seed % len(WIDTHS)])
        except Mismatch as error:
            pytest.fail(f"HEALD_MEANING_SEED={seed}\n{case.text}\n{error}", pytrace=False)
    assert count > EACH // 4  # most kernels can be widened


MORE_THREADS = """
@wp.kernel
def k(x: wp.array(dtype=float), h: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.int8),
      v: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), z: wp.array(dtype=wp.int16)):
    i = wp.tid()
    n = x.shape[0]
    s = float(0.0)
    if i < n:
        s = x[i] + x[n - 1 - i] + float(h[i])
        if b[i] > wp.int8(2):
            s += v[i].y + float(b[n - 1 - i])
            z[i] = wp.int16(b[i])
    for j in range(i, wp.min(n, i + 5)):
        if x[j] < 0.0:
            continue
        s += x[j] * float(h[j])
    if 2 * i + 1 < n:
        s += x[2 * i] + x[2 * i + 1]
    if i > 0 and i <= n:
        y[i - 1] = s
"""


BETWEEN_FENCES = tuple(partial(fenced, at_end=at_end) for at_end in (True, False))


@pytest.mark.parametrize("length", [1, 19])
@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_beyond_the_arrays_touch_nothing(width: int, length: int) -> None:
    kernel = lower_text(MORE_THREADS, f"more threads {width} {length}")
    random = np.random.default_rng(length)
    args = []
    for p in kernel.params:
        assert isinstance(p.type, Array)
        t = numpy_dtype(p.type.dtype)
        numbers = random.integers(-6, 12, (length, *t.shape)).astype(t.base)
        args.append(ArrayView.from_numpy(numbers, p.type.dtype))
    case = Case(MORE_THREADS, kernel, (length + 37,), args)
    assert examine_widened(case, width, BETWEEN_FENCES) == 4


@pytest.mark.parametrize("share", range(2))
def test_vectors_touch_no_byte_beyond_their_arrays(share: int) -> None:
    """Not even to read it in lanes that are off: what lies there may be unmapped."""
    count = 0
    for seed in range(FIRST + share, FIRST + EACH, 2):
        case = case_of(generate(seed), seed, scale=3)
        case = replace(case, args=tight(case.args))
        try:
            count += examine_widened(case, WIDTHS[seed % 3], BETWEEN_FENCES)
        except Mismatch as error:
            pytest.fail(f"HEALD_MEANING_SEED={seed}\n{case.text}\n{error}", pytrace=False)
    assert count > EACH // 8
