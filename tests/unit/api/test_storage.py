"""Kernels in files."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.ir import dump_kernels, load_kernels, parse, to_text
from heald.ops import TABLE


@wp.func
def twice(x: float) -> float:
    return x + x


@wp.kernel
def scale(a: wp.array(dtype=float), factor: float):
    i = wp.tid()
    a[i] = twice(a[i]) * factor


@wp.kernel
def generic(a: wp.array(dtype=Any), b: Any):
    i = wp.tid()
    a[i] = a[i] + b


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_a_stored_kernel_runs_again(tmp_path, device):
    path = tmp_path / "scale.heald"
    wp.save_ir(scale, path, metadata={"author": "me"})
    loaded = wp.load_ir(path)
    a = wp.array([1.0, 2.0, 3.0], dtype=float, device=device)
    wp.launch(loaded, dim=3, inputs=[a, 0.5], device=device)
    assert a.list() == [1.0, 2.0, 3.0]
    with pytest.raises(wp.OutOfBoundsError, match=r"'a' of shape 3, in thread 3 of kernel 'scale'"):
        wp.launch(loaded, dim=4, inputs=[a, 0.5], device=device)
    with pytest.raises(wp.LaunchError, match="factor"):
        wp.launch(loaded, dim=3, inputs=[a, "x"], device=device)


def test_faults_of_a_stored_kernel_point_at_its_source(tmp_path):
    path = tmp_path / "scale.heald"
    wp.save_ir(scale, path)
    a = wp.zeros(2)
    with pytest.raises(wp.OutOfBoundsError) as info:
        wp.launch(wp.load_ir(path), dim=3, inputs=[a, 1.0])
    assert "twice(a[i])" in str(info.value)


def test_generic_kernels_store_what_was_compiled(tmp_path):
    path = tmp_path / "generic.heald"
    wp.save_ir(generic, path, types=[wp.array(dtype=wp.float64), wp.float64])
    wp.save_ir(generic, path, types=[wp.array(dtype=wp.int32), int])
    loaded = wp.load_ir(path)
    for dtype in (np.float64, np.int32):
        a = wp.array(np.ones(2, dtype))
        wp.launch(loaded, dim=2, inputs=[a, dtype(2)])
        assert a.numpy().tolist() == [3, 3]
    with pytest.raises(wp.LaunchError, match="no code for these parameter types"):
        wp.launch(loaded, dim=2, inputs=[wp.zeros(2, dtype=wp.int64), np.int64(1)])


def test_a_generic_kernel_without_types_cannot_be_stored(tmp_path):
    @wp.kernel
    def fresh(a: wp.array(dtype=Any)):
        a[0] = a[1]

    with pytest.raises(wp.LaunchError, match="was not compiled for any types yet"):
        wp.save_ir(fresh, tmp_path / "fresh.heald")
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"not a kernel")
    with pytest.raises(wp.CompileError, match="H0903"):
        wp.load_ir(path)
    path.write_bytes(dump_kernels([], metadata={}))
    with pytest.raises(wp.CompileError, match=r"was not written by wp\.save_ir"):
        wp.load_ir(path)
    with pytest.raises(OSError, match="nowhere"):
        wp.load_ir(tmp_path / "nowhere")


def test_kernels_and_functions_are_copied_and_pickled_by_name(tmp_path):
    for made in (scale, generic, twice):
        assert copy.copy(made) is copy.deepcopy(made) is pickle.loads(pickle.dumps(made)) is made
    wp.save_ir(scale, tmp_path / "scale.heald")
    loaded = wp.load_ir(tmp_path / "scale.heald")
    assert copy.deepcopy(loaded) is loaded
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(loaded)


@wp.kernel
def shown(a: wp.array(dtype=float)):
    wp.printf("%d is %.2f\n", wp.tid(), a[0])


WRONG_PRINTS = [
    ("%d is %.2f", "%d is %"),
    ("%d is %.2f", "%d is"),
    ("%d is %.2f", "%d is %d"),
    ("%d is %.2f", "%d is %A"),
    ("%d is %.2f", "%d is %.1000f"),
    ("%d is %.2f", "%d is %(x)f"),
    ("i32,f32", "i32,i32"),
    ("i32,f32", "f32"),
]


@pytest.mark.parametrize(("right", "wrong"), WRONG_PRINTS)
def test_a_file_whose_prints_cannot_be_printed_is_refused(tmp_path, right, wrong):
    path = tmp_path / "shown.heald"
    wp.save_ir(shown, path)
    file = load_kernels(path.read_bytes(), TABLE)
    assert wp.load_ir(path).key == "shown"
    text = to_text(file.kernels[0]).replace(right, wrong)
    path.write_bytes(dump_kernels([parse(text, TABLE)], metadata=file.metadata))
    with pytest.raises(wp.CompileError, match=r"H0904\]: printf of kernel 'shown'"):
        wp.load_ir(path)
