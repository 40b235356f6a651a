"""How memory of other libraries is read as elements; that of GPUs is tested in ``tests/gpu``."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.api.foreign import ForeignArray, Tensor, fold, is_on_gpu, take_capsule
from heald.diagnostics import LaunchError, TypingError
from heald.runtime import CPU, contiguous_strides
from heald.types import Matrix, Vector, f32, f64, i32


def folded(shape: tuple[int, ...], element: Any, strides: Any = None) -> ForeignArray:
    steps = contiguous_strides(shape, 4) if strides is None else strides
    return fold(f32, element, 4096, (shape, steps), CPU, None, False)


def test_axes_of_elements_are_the_last_ones() -> None:
    for element, shape in ((None, (5, 3)), (f32, (5, 3)), (Vector(f32, 3), (5,))):
        made = folded((5, 3), element)
        assert made.shape == shape
        assert made.strides == contiguous_strides((5, 3), 4)[: len(shape)]
    assert folded((7, 2, 3), Matrix(f32, 2, 3)).shape == (7,)
    assert folded((3,), Vector(f32, 3)).shape == (1,)
    assert folded((), None).shape == (1,)
    assert folded((5, 4), Vector(f32, 4), (64, 4)).strides == (64,)


@pytest.mark.parametrize(
    ("shape", "element", "strides", "why"),
    [
        ((5, 3), f64, None, "holds float32, not float64"),
        ((5, 3), Vector(i32, 3), None, "holds float32"),
        ((5, 3), Vector(f32, 4), None, "does not divide"),
        ((3,), Matrix(f32, 3, 3), None, "does not divide"),
        ((5, 3), Vector(f32, 3), (12, 8), "side by side"),
    ],
)
def test_what_does_not_fit(shape: Any, element: Any, strides: Any, why: str) -> None:
    with pytest.raises(TypingError, match=why) as caught:
        folded(shape, element, strides)
    assert caught.value.codes == ("H0712",)


def test_arrays_have_four_dimensions_at_most() -> None:
    with pytest.raises(LaunchError):
        folded((2, 2, 2, 2, 2), None)


def test_a_tensor_has_the_layout_of_dlpack() -> None:
    places = [getattr(Tensor, name).offset for name, *_ in Tensor._fields_]
    assert places == [0, 8, 12, 16, 20, 21, 22, 24, 32, 40]


def test_what_lies_on_the_host_is_not_on_a_gpu() -> None:
    for data in (None, 5, [1.0], np.zeros(3), wp.zeros(3), wp.vec3(), memoryview(b"abc")):
        assert not is_on_gpu(data)
    assert callable(take_capsule)


@pytest.mark.parametrize(
    "said",
    [
        7,
        {},
        {"shape": (3,), "typestr": "<f4"},
        {"shape": (3,), "typestr": "?!", "data": (4096, False)},
        {"shape": 3, "typestr": "<f4", "data": (4096, False)},
        {"shape": ("x",), "typestr": "<f4", "data": (4096, False)},
        {"shape": (3,), "typestr": "<f4", "data": ("x", False)},
        {"shape": (3,), "typestr": "<f4", "data": (4096,)},
        {"shape": (3,), "typestr": "<f4", "data": (4096, False), "strides": (4, 4)},
    ],
)
def test_what_does_not_describe_memory_of_a_gpu_is_refused(said: Any) -> None:
    holder = type("Holder", (), {"__cuda_array_interface__": said})()
    with pytest.raises(TypingError, match=r"H0712.*__cuda_array_interface__ of Holder"):
        wp.array(holder)


AT_THE_END = """
import ctypes
import os
import sys
import numpy as np
import heald as wp
from heald.api import foreign

foreign.let_wait = lambda *_: None
x = np.arange(6, dtype=np.float32)
memory = foreign.ForeignArray(
    foreign.BY_NAME["f32"], x.ctypes.data, (6,), (4,), wp.get_device("cpu"), x, False
)


class Tensor:
    def __init__(self, capsule):
        self.managed = foreign._pointer(id(capsule), b"dltensor")
        deleter = foreign._Plain.from_address(self.managed).deleter
        self.delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)
        foreign._rename(capsule, ctypes.addressof(foreign._USED[b"dltensor"]))
        self.write = os.write

    def __del__(self):
        self.delete(self.managed)
        self.write(1, b"given back\\n")


sys.kept = [foreign.make_capsule(memory, None, None) for _ in range(8)]
sys.tensors = [Tensor(foreign.make_capsule(memory, None, None)) for _ in range(8)]
cycle = [Tensor(foreign.make_capsule(memory, None, None))]
cycle.append(cycle)
"""


def test_tensors_are_given_back_when_modules_are_gone() -> None:
    """As torch does with those that live as long as the process."""
    command = [sys.executable, "-c", AT_THE_END]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "given back\n" * 9, "")
