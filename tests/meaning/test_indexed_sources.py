"""Random source kernels of which some arrays become indexed arrays: they leave the same numbers.

The elements lie shuffled in a larger array, and the indices say where.  ``HEALD_MEANING_SEED`` sets
the first seed, to run a failure again.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from meaning.checking import Case, case_of, examine
from meaning.language import load
from meaning.running import Left, Mismatch, interpret
from meaning.sources import generate
from meaning.test_random_sources import EACH, FIRST
from meaning.test_widened import WIDTHS, examine_widened

from heald.frontend import Options, lower_kernel, parameter_patterns
from heald.interp import ArrayView
from heald.ir import check
from heald.library.registry import lookup
from heald.ops import TABLE
from heald.types import Array, as_indexed, i32, leaves, size_of, usual_type

pytestmark = pytest.mark.cpu
SHARES = 3
_PARAMETER = re.compile(r"\b([A-Z]\w*): wp\.array\(dtype=([\w.]+), ndim=1\)")
_OF_FUNCTIONS = re.compile(r"\b([SCB]): wp\.array\(dtype=\w+\)")


def with_indices(text: str, random: np.random.Generator) -> tuple[str, list[str]]:
    """The text with some array parameters of the kernel indexed, and their names."""
    functions, start, kernel = text.rpartition("@wp.kernel")
    # Arrays that are passed twice stay one array.
    names = [n for n, _ in _PARAMETER.findall(kernel) if n not in "BP" or "P:" not in kernel]
    chosen = [n for n in names if random.random() < 0.5] or names[:1]

    def changed(found: re.Match[str]) -> str:
        name, dtype = found.groups()
        return f"{name}: wp.indexedarray(dtype={dtype})" if name in chosen else found.group()

    return _OF_FUNCTIONS.sub(r"\1", functions) + start + _PARAMETER.sub(changed, kernel), chosen


def shuffled(view: ArrayView, random: np.random.Generator) -> tuple[ArrayView, ArrayView]:
    """The elements in a larger array, and where they are."""
    (count,) = view.shape
    size = size_of(view.dtype)
    room = count + int(random.integers(0, 4))
    at = random.permutation(room)[:count].astype(np.int32)
    buffer = random.integers(0, 2, room * size, dtype=np.uint8)  # bools stay bools
    data = ArrayView(buffer, 0, (room,), (size,), view.dtype)
    for k in range(len(leaves(view.dtype))):
        data.leaf(k)[at] = view.leaf(k)
    return data, ArrayView(at.view(np.uint8), 0, at.shape, at.strides, i32)


def indexed_case(case: Case, seed: int, random: np.random.Generator) -> tuple[Case, list[str]]:
    """The same launch with some arrays indexed."""
    text, chosen = with_indices(case.text, random)
    function = load(text, f"indexed{seed}")["k"]
    types = [usual_type(pattern) for _, pattern in parameter_patterns(function)]
    known = [t for t in types if t is not None]
    assert len(known) == len(types)
    kernel = lower_kernel(function, known, lookup, Options(strict_fp=case.strict))
    check(kernel, TABLE)
    args = [
        shuffled(a, random) if as_indexed(t) else a for t, a in zip(known, case.args, strict=True)
    ]
    return replace(case, text=text, kernel=kernel, args=args, has_oracle=False), chosen


def elements(left: Left, case: Case) -> dict[str, list[bytes]]:
    """What each array holds, in the order of its indices."""
    found: dict[str, list[bytes]] = {}
    views = iter(left.views)
    for parameter, a in zip(case.kernel.params, case.args, strict=True):
        parts = a if isinstance(a, tuple) else (a,)
        held = [next(views)[1] for part in parts if isinstance(part, ArrayView)]
        if as_indexed(parameter.type):
            data, at = held
            order = at.leaf(0)
            numbers = [data.leaf(k)[order] for k in range(len(leaves(data.dtype)))]
        elif isinstance(parameter.type, Array):
            (view,) = held
            numbers = [view.leaf(k) for k in range(len(leaves(view.dtype)))]
        else:
            continue
        found[case.kernel.name_of(parameter)] = [x.tobytes() for x in numbers]
    return found


def examine_indexed(seed: int) -> None:
    """Raise where indices make a difference."""
    random = np.random.default_rng(seed)
    plain = case_of(generate(seed), seed, scale=2)
    case, _ = indexed_case(plain, seed, random)
    expected = interpret(plain.kernel, plain.dims, plain.args)
    found = examine(case)
    if (expected.fault is None) != (found.fault is None):
        raise Mismatch(f"fault {found.fault}, expected {expected.fault}")
    if expected.fault is None:
        one, other = elements(expected, plain), elements(found, case)
        for name in one:
            if one[name] != other[name]:
                raise Mismatch(f"{name} differs")
    examine_widened(case, WIDTHS[seed % len(WIDTHS)])


@pytest.mark.parametrize("share", range(SHARES))
def test_indices_change_nothing(share: int) -> None:
    for number in range(-(-EACH // 5)):
        seed = FIRST + share * EACH + number
        try:
            examine_indexed(seed)
        except Mismatch as error:
            text = generate(seed).text
            pytest.fail(f"HEALD_MEANING_SEED={seed}\n{text}\n{error}", pytrace=False)


def test_most_kernels_get_indices() -> None:
    counts = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        text, chosen = with_indices(generate(seed).text, random)
        assert text.count("wp.indexedarray(") == len(chosen) > 0
        counts.append(len(chosen))
    assert sum(counts) > 30
