"""Kernels as people write them: right on every device, and the same in every way to run them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from meaning.checking import Case, examine
from meaning.language import lower

import heald as wp
from heald.interp import ArrayView
from heald.types import Array, Struct

FOLDER = Path(__file__).parent / "corpus"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def module_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def given(name: str) -> tuple[ModuleType, dict[str, Any], dict[str, Any]]:
    """The module, arguments for its kernel, and what they must become."""
    module = module_of(name)
    random = np.random.default_rng(list(name.encode()))
    arguments = module.arguments(random)
    return module, arguments, module.expected(**arguments)


def check(name: str, found: Any, wanted: Any, tolerance: float) -> None:
    if found.dtype.names:
        for part in found.dtype.names:
            check(f"{name}.{part}", found[part], wanted[part], tolerance)
    elif tolerance and found.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=name)


def dims_of(module: ModuleType) -> tuple[int, ...]:
    return module.DIM if isinstance(module.DIM, tuple) else (module.DIM,)


@pytest.mark.cpu
@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_run_it_agrees_and_is_right(name: str) -> None:
    module, arguments, wanted = given(name)
    kernel = lower(module.kernel.__wrapped__)
    args = []
    for parameter, x in zip(kernel.params, arguments.values(), strict=True):
        t = parameter.type
        if isinstance(t, Array):
            args.append(ArrayView.from_numpy(x.copy(), t.dtype))
        else:
            args.append(_flat(x) if isinstance(t, Struct) else x)
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    numbers = {n: x for n, x in vars(module).items() if isinstance(x, int) and n.isupper()}
    left = examine(Case(text, kernel, dims_of(module), args, numbers))
    assert left.fault is None
    views = dict(left.views)
    for key, value in wanted.items():
        found = np.ndarray(
            arguments[key].shape, arguments[key].dtype, views[key].buffer.data, views[key].offset
        )
        check(key, found, value, getattr(module, "TOLERANCE", 0))


def _host_struct(module: ModuleType, t: Struct, fields: tuple[Any, ...]) -> Any:
    names = [name for name, _ in t.fields]
    return getattr(module, t.name)(**dict(zip(names, fields, strict=True)))


def _flat(x: Any) -> tuple[Any, ...]:
    return tuple(
        leaf for part in x for leaf in (_flat(part) if isinstance(part, tuple) else (part,))
    )


@pytest.mark.cpu
@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("name", NAMES)
def test_a_launch_is_right(name: str, device: str) -> None:
    module, arguments, wanted = given(name)
    kernel = module.kernel
    inputs: list[Any] = []
    arrays: dict[str, Any] = {}
    for (key, t), x in zip(kernel.parameters, arguments.values(), strict=True):
        if isinstance(t, Array):
            arrays[key] = wp.array(x, dtype=t.dtype, device=device)
            inputs.append(arrays[key])
        else:
            inputs.append(_host_struct(module, t, x) if isinstance(t, Struct) else x)
    wp.launch(kernel, dim=module.DIM, inputs=inputs, device=device)
    for key, value in wanted.items():
        check(key, arrays[key].numpy(), value, getattr(module, "TOLERANCE", 0))


def test_the_corpus_is_large() -> None:
    assert len(NAMES) > 15
