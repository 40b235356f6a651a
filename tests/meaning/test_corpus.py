"""Kernels as people write them: right on every device, and the same in every way to run them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from meaning.checking import Case, examine
from meaning.language import lower
from meaning.running import compare, interpret

import heald as wp
from heald.diagnostics import CompileError
from heald.frontend import Options
from heald.interp import ArrayView
from heald.ir import Kernel
from heald.types import Array, Struct, i64

FOLDER = Path(__file__).parent / "corpus"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NARROW_ONLY = {"binary_search", "first_divisor", "linked_cells", "random_walk"}
"""Kernels that put an extent or a thread index where an int32 is asked for."""


@dataclass(frozen=True)
class Loaded:
    """A file of the corpus: its module, arguments for its kernel, and what they must become."""

    name: str
    module: ModuleType
    arguments: dict[str, Any]
    wanted: dict[str, Any]

    @property
    def dims(self) -> tuple[int, ...]:
        dim = self.module.DIM
        return dim if isinstance(dim, tuple) else (dim,)

    def kernel(self, **options: Any) -> Kernel:
        return lower(self.module.kernel.__wrapped__, Options(**options))

    def views(self, kernel: Kernel) -> list[Any]:
        """The arguments as the interpreter takes them."""
        out = []
        for parameter, x in zip(kernel.params, self.arguments.values(), strict=True):
            t = parameter.type
            if isinstance(t, Array):
                out.append(ArrayView.from_numpy(x.copy(), t.dtype))
            else:
                out.append(_flat(x) if isinstance(t, Struct) else x)
        return out

    def check(self, key: str, found: Any) -> None:
        _check(key, found, self.wanted[key], getattr(self.module, "TOLERANCE", 0))


def load(name: str) -> Loaded:
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = module.arguments(np.random.default_rng(list(name.encode())))
    return Loaded(name, module, arguments, module.expected(**arguments))


def _check(name: str, found: Any, wanted: Any, tolerance: float) -> None:
    if found.dtype.names:
        for part in found.dtype.names:
            _check(f"{name}.{part}", found[part], wanted[part], tolerance)
    elif tolerance and found.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=name)


def _flat(x: Any) -> tuple[Any, ...]:
    parts = [_flat(part) if isinstance(part, tuple) else (part,) for part in x]
    return tuple(leaf for part in parts for leaf in part)


def _host_struct(module: ModuleType, t: Struct, fields: tuple[Any, ...]) -> Any:
    names = [name for name, _ in t.fields]
    return getattr(module, t.name)(**dict(zip(names, fields, strict=True)))


@pytest.mark.cpu
@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_run_it_agrees_and_is_right(name: str) -> None:
    loaded = load(name)
    kernel = loaded.kernel()
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    numbers = {n: x for n, x in vars(loaded.module).items() if n.isupper() and isinstance(x, int)}
    left = examine(Case(text, kernel, loaded.dims, loaded.views(kernel), numbers))
    assert left.fault is None
    views = dict(left.views)
    for key in loaded.wanted:
        given = loaded.arguments[key]
        memory, offset = views[key].buffer.data, views[key].offset
        loaded.check(key, np.ndarray(given.shape, given.dtype, memory, offset))


@pytest.mark.parametrize("name", NAMES)
def test_wide_indices_change_nothing(name: str) -> None:
    """The specialisation for more than 2^31 elements, on few of them."""
    loaded = load(name)
    if name in NARROW_ONLY:
        with pytest.raises(CompileError):
            loaded.kernel(index=i64)
        return
    narrow, wide = loaded.kernel(), loaded.kernel(index=i64)
    args = loaded.views(narrow)
    compare("wide", interpret(narrow, loaded.dims, args), interpret(wide, loaded.dims, args))


@pytest.mark.cpu
@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("name", NAMES)
def test_a_launch_is_right(name: str, device: str) -> None:
    loaded = load(name)
    kernel = loaded.module.kernel
    inputs: list[Any] = []
    arrays: dict[str, Any] = {}
    for (key, t), x in zip(kernel.parameters, loaded.arguments.values(), strict=True):
        if isinstance(t, Array):
            arrays[key] = wp.array(x, dtype=t.dtype, device=device)
            inputs.append(arrays[key])
        else:
            inputs.append(_host_struct(loaded.module, t, x) if isinstance(t, Struct) else x)
    wp.launch(kernel, dim=loaded.module.DIM, inputs=inputs, device=device)
    for key in loaded.wanted:
        loaded.check(key, arrays[key].numpy())


def test_the_corpus_is_large() -> None:
    assert len(NAMES) > 20
