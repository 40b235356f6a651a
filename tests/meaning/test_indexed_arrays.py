"""Indexed arrays in kernels: what numpy's ``ix_`` picks, the same in every way to run a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meaning.checking import Case, examine
from meaning.running import interpret
from meaning.test_random_sources import PROFILE
from meaning.test_widened import WIDTHS, examine_widened

import heald as wp
from heald.driver.specialise import resolve
from heald.frontend import lower_kernel
from heald.interp import ArrayView
from heald.types import Array, f32, i32, i64, indexed_array, leaves

pytestmark = pytest.mark.cpu


@wp.func
def at(x: wp.indexedarray(dtype=float, ndim=2), i: int, j: int):
    return x[i, j]


@wp.func
def total(x: wp.indexedarray(dtype=float)):
    s = 0.0
    for k in range(len(x)):
        s += x[k]
    return s


@wp.kernel
def elements(x: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = at(x, i, j) * 2.0 + x[-1, j] - float(x.shape[0] * 100 + x.shape[1])


@wp.kernel
def views(x: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    row = x[i]
    part = x[::-1, 1:]
    out[i, j] = row[j] + total(x[i]) - total(x[:, j]) + part[i, 0] + float(len(part))


@wp.kernel
def writes(x: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j] = x[i, j] + out[i, j]
    row = x[i]
    row[j] = row[j] * 2.0


@wp.kernel
def updates(x: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    wp.atomic_max(x, i, j, out[i, j])
    x[0, 0] += float(i + 2 * j)


KERNELS = {k.key: k for k in (elements, views, writes, updates)}


def expected(name: str, x: np.ndarray, mesh: Any, out: np.ndarray) -> tuple[Any, Any]:
    """Data and ``out`` after a launch over all of ``out``, in numpy."""
    data, picked = x.copy(), x[mesh]
    rows, columns = picked.shape
    match name:
        case "elements":
            return data, picked * 2 + picked[-1] - np.float32(rows * 100 + columns)
        case "views":
            sums = picked.sum(1, keepdims=True) - picked.sum(0, keepdims=True)
            return data, picked + sums + picked[::-1, 1:2] + np.float32(rows)
        case "writes":
            data[mesh] = (picked + out) * 2
            return data, out
    i, j = np.ogrid[:rows, :columns]
    np.maximum.at(data, mesh, out)
    data[mesh[0][0, 0], mesh[1][0, 0]] += np.sum(i + 2 * j)
    return data, out


def view_of(x: np.ndarray, t: Any) -> ArrayView:
    return ArrayView(x.reshape(-1).view(np.uint8), 0, x.shape, x.strides, t)


def case_of(
    name: str, data: np.ndarray, picks: list[np.ndarray | None], dims: tuple[int, ...]
) -> Case:
    """``picks`` are the indices of each axis, or None."""
    types = (None if p is None else i32 if p.dtype == np.int32 else i64 for p in picks)
    x = indexed_array(f32, tuple(types))
    function = KERNELS[name].__wrapped__
    kernel = lower_kernel(function, (x, Array(f32, 2)), resolve)
    out = np.arange(dims[0] * dims[1], dtype=np.float32).reshape(dims)
    parts = [view_of(p.copy(), t.dtype) for p, t in zip_leaves(picks, leaves(x)[1:])]
    args = [(view_of(data.copy(), f32), *parts), view_of(out, f32)]
    return Case(f"{name} of {data.shape} at {picks}", kernel, dims, args, has_oracle=False)


def zip_leaves(picks: list[np.ndarray | None], types: Any) -> Any:
    return zip([p for p in picks if p is not None], types, strict=True)


def examine_all(case: Case) -> Any:
    left = examine(case)
    examine_widened(case, WIDTHS[len(case.text) % len(WIDTHS)])
    return left


@pytest.mark.parametrize(
    ("kind", "mask"),
    [(np.int32, (1, 1)), (np.int64, (1, 0)), (np.int32, (0, 1)), (np.int32, (0, 0))],
)
@pytest.mark.parametrize("name", KERNELS)
def test_elements_are_those_of_numpy(name: str, kind: Any, mask: tuple[int, int]) -> None:
    random = np.random.default_rng(len(name) + sum(mask))
    data = random.integers(-9, 9, (7, 33)).astype(np.float32)  # sums in any order are exact
    whole = [np.arange(extent) for extent in data.shape]
    picks = [
        random.permutation(extent)[: extent - 2].astype(kind) if indexed else None
        for extent, indexed in zip(data.shape, mask, strict=True)
    ]
    mesh = np.ix_(*(w if p is None else p for p, w in zip(picks, whole, strict=True)))
    dims = data[mesh].shape
    case = case_of(name, data, picks, dims)
    left = examine_all(case)
    assert left.fault is None
    out = np.arange(dims[0] * dims[1], dtype=np.float32).reshape(dims)
    for found, wanted in zip(
        (left.memory[0], left.memory[-1]), expected(name, data, mesh, out), strict=True
    ):
        assert np.frombuffer(found, np.float32).tolist() == wanted.ravel().tolist()


@settings(max_examples=PROFILE.max_examples // 5)  # each compiles a dozen forms
@given(st.data())
def test_faults_are_the_same_everywhere(data: Any) -> None:
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 20)))
    picks = [
        None if k is None else np.array(k, np.int32)
        for k in data.draw(
            st.tuples(
                *(st.none() | st.lists(st.integers(-2, n + 1), max_size=n + 2) for n in shape)
            )
        )
    ]
    name = data.draw(st.sampled_from(["elements", "views", "writes"]))
    if name == "writes":  # no two threads to one element
        picks = [None if p is None else np.unique(p) for p in picks]
    dims = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 20)))
    examine_all(case_of(name, np.ones(shape, np.float32), picks, dims))


@pytest.mark.parametrize("rows", [[0, 5], [0, -1], [0]])
def test_what_leads_outside_is_reported_and_not_written(rows: list[int]) -> None:
    case = case_of("writes", np.zeros((3, 2), np.float32), [np.array(rows, np.int32), None], (2, 2))
    left = interpret(case.kernel, case.dims, case.args)
    assert left.fault is not None
    assert left.fault.thread == 2
    data = np.frombuffer(left.memory[0], np.float32).reshape(3, 2)
    assert data.tolist() == [[0, 2], [0, 0], [0, 0]]
