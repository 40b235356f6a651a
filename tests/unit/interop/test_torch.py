"""PyTorch: tensors and arrays over the same memory."""

import gc
import sys

import numpy as np
import pytest

import heald as wp
from heald.types import SCALARS, bf16


def refused(code, match):
    return pytest.raises(wp.HealdError, match=f"(?s){code}.*{match}")


def test_without_torch_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (
        lambda: wp.from_torch(object()),
        lambda: wp.to_torch(wp.zeros(3)),
        lambda: wp.device_from_torch("cpu"),
    ):
        with refused("H0805", "torch is not installed.*pip install torch"):
            call()


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("t", SCALARS, ids=str)
def test_scalars_go_both_ways(torch, t):
    a = wp.array([1, 0, 1], dtype=t)
    tensor = wp.to_torch(a)
    assert tensor.dtype is wp.dtype_to_torch(a.dtype)
    assert wp.dtype_from_torch(tensor.dtype) is a.dtype
    assert tensor.data_ptr() == a.ptr
    tensor[1] = 1
    assert a[1] == 1
    back = wp.from_torch(tensor)
    assert back.element_type is t
    assert back.ptr == a.ptr
    assert not back.read_only
    assert wp.from_dlpack(tensor).element_type is t
    assert torch.from_dlpack(a).tolist() == tensor.tolist()


def test_vectors_have_their_axes_last(torch):
    a = wp.array(np.arange(12), dtype=wp.vec3)
    tensor = wp.to_torch(a)
    assert tensor.shape == (4, 3)
    assert wp.from_torch(tensor, dtype=wp.vec3).list() == a.list()
    pair = wp.types.vector(length=2, dtype=wp.bfloat16)
    halves = torch.arange(6, dtype=torch.bfloat16).reshape(3, 2)
    b = wp.from_torch(halves, dtype=pair)
    assert b.element_type.dtype is bf16
    assert b[2] == pair(4, 5)
    b[0] = pair(7, 8)
    assert halves[0].tolist() == [7, 8]
    assert wp.from_torch(torch.tensor(2.5, dtype=torch.bfloat16)).list() == [2.5]


def test_strides_are_kept(torch):
    tensor = torch.arange(12).reshape(3, 4)
    a = wp.from_torch(tensor.T[1:])
    assert a.numpy().tolist() == tensor.T[1:].tolist()
    assert wp.to_torch(a).tolist() == tensor.T[1:].tolist()
    wide = wp.from_torch(torch.ones(1).expand(5))
    assert wide.strides == (0,)
    with refused("H0711", "negative strides"):
        wp.to_torch(wp.zeros(3)[::-1])


def test_memory_lives_as_long_as_either_side(torch):
    a = wp.from_torch(torch.arange(1000.0)[5:])
    tensor = wp.to_torch(wp.array(np.arange(1000.0)))
    gc.collect()
    junk = [np.full(1000, 7.0) for _ in range(50)]
    assert a.list() == list(range(5, 1000))
    assert tensor.tolist() == list(range(1000))
    assert junk


@pytest.mark.parametrize("share", [wp.from_torch, wp.from_dlpack])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
def test_torch_does_not_free_memory_that_is_shared(torch, share, dtype):
    tensor = torch.ones(1000, dtype=getattr(torch, dtype))
    a = share(tensor[3:5])
    for free in (lambda: tensor.resize_(10**6), lambda: tensor.untyped_storage().resize_(0)):
        with pytest.raises(RuntimeError, match="not resizable"):
            free()
    assert a.list() == [1, 1]


def test_gradients_are_not_lost_in_silence(torch):
    tensor = torch.ones(3, requires_grad=True)
    with refused("H0716", "detach"):
        wp.from_torch(tensor)
    with refused("H0716", "gradients"):
        wp.from_torch(torch.ones(3), requires_grad=True)
    assert wp.from_torch(tensor, requires_grad=False).list() == [1, 1, 1]
    assert wp.to_torch(wp.zeros(3), requires_grad=True).requires_grad


def test_what_does_not_fit_is_refused(torch):
    with refused("H0702", "takes a tensor, not ndarray"):
        wp.from_torch(np.zeros(3))
    with refused("H0702", "takes an array, not list"):
        wp.to_torch([1])
    with refused("H0712", "complex64"):
        wp.from_torch(torch.zeros(3, dtype=torch.complex64))
    with refused("H0704", "'meta'"):
        wp.from_torch(torch.zeros(3, device="meta"))
    with refused("H0711", "not dense"):
        wp.from_torch(torch.zeros(3, 3).to_sparse())
    with refused("H0711", "another sign.*resolve_neg"):
        wp.from_torch(torch.ones(3, dtype=torch.complex64).conj().imag)
    with refused("H0712", "float32"):
        wp.from_torch(torch.zeros(3), dtype=wp.float64)
    x = np.zeros(3, np.float32)
    x.flags.writeable = False
    with refused("H0705", "clone"):
        wp.to_torch(wp.array(x, copy=False))
    with refused("H0801", "meta"):
        wp.device_from_torch("meta")
    assert wp.device_from_torch(torch.device("cpu")) is wp.get_device("cpu")
    assert wp.device_to_torch("sim") == "cpu"


def test_arrays_of_tensors(torch):
    tensor = torch.arange(6.0).reshape(2, 3)
    shared = wp.array(tensor, dtype=wp.vec3, copy=False)
    shared[0] = wp.vec3(7, 8, 9)
    assert tensor[0].tolist() == [7, 8, 9]
    assert wp.array(tensor).list() == [7, 8, 9, 3, 4, 5]
    with refused("H0712", "wp.from_torch"):
        wp.array(torch.ones(2, dtype=torch.bfloat16))
    with refused("H0712", "requires grad"):
        wp.array(torch.ones(2, requires_grad=True), copy=False)
    with refused("H0702", "copy=False"):
        wp.map(abs, tensor)
