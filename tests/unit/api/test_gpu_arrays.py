"""Arrays on a GPU, whose memory is reached by copies: with a driver that keeps it on the host."""

from __future__ import annotations

import pickle
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from elements import ELEMENTS, sample
from fake_cuda import BASE, Fake, use_fake_gpu

import heald as wp
from heald.api import foreign, launch, moving
from heald.diagnostics import HealdError
from heald.runtime import cuda
from heald.runtime.cuda import devices
from heald.types import Struct


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake, _ = use_fake_gpu(monkeypatch)
    monkeypatch.setattr(moving, "launch", fake.move)
    return fake


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.float16, wp.int8, wp.bool, wp.uint64])
def test_numbers_go_there_and_back(driver: Fake, dtype: Any) -> None:
    data = np.arange(12).reshape(3, 4).astype(np.float32)
    a = wp.array(data, dtype=dtype, device="cuda:0")
    assert a.device == "cuda:0"
    assert a.ptr >= BASE
    assert driver.fetched == 0, "what is overwritten is not fetched"
    np.testing.assert_array_equal(a.numpy(), wp.array(data, dtype=dtype).numpy())
    np.testing.assert_array_equal(np.asarray(a), a.numpy())
    assert a.list() == wp.array(data, dtype=dtype).list()


def test_bfloat16_vectors_and_structs(driver: Fake) -> None:
    @wp.struct
    class Pair:
        a: wp.int8
        b: wp.vec2

    half = wp.array([1.5, 2.5], dtype=wp.bfloat16, device="cuda:0")
    assert half.numpy().tolist() == [1.5, 2.5]
    points = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3, device="cuda:0")
    assert points[1] == wp.vec3(4.0, 5.0, 6.0)
    points[0] = wp.vec3(7.0, 8.0, 9.0)
    assert points.list() == [wp.vec3(7.0, 8.0, 9.0), wp.vec3(4.0, 5.0, 6.0)]
    pairs = wp.array([Pair(a=1, b=wp.vec2(2.0, 3.0))], device="cuda:0")
    assert pairs[0].b == wp.vec2(2.0, 3.0)
    raw = bytes(driver.blocks[pairs.ptr])[:12]
    assert raw[1:4] == b"\0\0\0", "padding is zero"


def test_making_and_filling(driver: Fake) -> None:
    assert wp.zeros(5, dtype=wp.float64, device="cuda:0").numpy().tolist() == [0.0] * 5
    assert wp.full(4, 2.5, dtype=wp.float32, device="cuda:0").numpy().tolist() == [2.5] * 4
    assert wp.full(2, 7, dtype=wp.int64, device="cuda:0").numpy().tolist() == [7, 7]
    assert wp.ones(2, dtype=wp.vec3, device="cuda:0").numpy().tolist() == [[1.0] * 3] * 2
    assert driver.sent == 0, "the driver fills"
    empty = wp.zeros((0, 3), dtype=wp.float32, device="cuda:0")
    assert empty.numpy().shape == (0, 3)
    assert empty.fill_(1.0).list() == []


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_the_gpu_fills_elements_of_every_type(driver: Fake, t: Any, count: int) -> None:
    """What lies around them stays, and the host sends nothing."""
    a, host = (wp.zeros(count + 2, dtype=t, device=d) for d in ("cuda:0", "cpu"))
    for part in (a[1:-1], host[1:-1]):
        assert part.fill_(sample(t, 3)) is part
    assert driver.fetched == driver.sent == 0
    assert a.numpy().tobytes() == host.numpy().tobytes()
    with wp.ScopedCapture("cuda:0"):
        sent = driver.sent
        a[:count].fill_(sample(t, 4))
        made = wp.zeros(count, dtype=t, device="cuda:0").fill_(sample(t, 5))
        assert driver.sent == sent
    host[:count].fill_(sample(t, 4))
    assert a.numpy().tobytes() == host.numpy().tobytes()
    host[:count].fill_(sample(t, 5))
    assert made.numpy().tobytes() == host[:count].numpy().tobytes()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 8, 12, 20])
@pytest.mark.parametrize("start", [0, 1, 2, 4])
def test_words_of_fills_lie_where_words_can(driver: Fake, size: int, start: int) -> None:
    device = wp.get_device("cuda:0")
    block = wp.zeros(200, dtype=wp.uint8, device="cuda:0")
    for pattern in (bytes(range(1, size + 1)), b"\7" * size, (b"\1\0" * size)[:size]):
        block.zero_()
        cuda.fill(device, block.ptr + start, pattern, 9)
        assert block.numpy().tobytes() == (bytes(start) + pattern * 9).ljust(200, b"\0")


@pytest.mark.parametrize("pattern", [b"\7\0" * 8, b"\1\2\3\4" * 5, bytes(20), bytes(3)])
def test_elements_of_equal_words_are_filled_at_once(
    driver: Fake, monkeypatch: pytest.MonkeyPatch, pattern: bytes
) -> None:
    """However many there are."""
    block, asked = wp.full(200, 255, dtype=wp.uint8, device="cuda:0"), []
    act = Fake.__call__
    monkeypatch.setattr(Fake, "__call__", lambda *a: asked.append(a[1]) or act(*a))
    cuda.fill(block.device, block.ptr, pattern, 7)
    assert sum("Memset" in name for name in asked) == 1
    assert not any("Memcpy" in name for name in asked)
    assert block.numpy().tobytes() == (pattern * 7).ljust(200, b"\xff")


@pytest.mark.parametrize(
    ("numbers", "sets"),
    [
        (np.eye(6), 1 + 6),
        (np.arange(36.0), 1 + 35),
        (np.array([0.5, 0.0, 0.0]), 1 + 1),
        (np.array([1 / 3, 0.0, -1 / 3, 3.0]), 1 + 5),
        (np.array([1, 2, 3, 2, 1, 2], np.int32), 1 + 3),
        (np.array([1, 2, 3, 4], np.int32), 4),
    ],
)
def test_words_that_come_again_in_an_element_are_written_once(
    driver: Fake, monkeypatch: pytest.MonkeyPatch, numbers: Any, sets: int
) -> None:
    pattern, count, asked = numbers.tobytes(), 1000, []
    block = wp.full(len(pattern) * count + 8, 255, dtype=wp.uint8, device="cuda:0")
    act = Fake.__call__
    with monkeypatch.context() as patched:
        patched.setattr(Fake, "__call__", lambda *a: asked.append(a[1]) or act(*a))
        cuda.fill(block.device, block.ptr, pattern, count)
    assert sum("Memset" in name for name in asked) == sets
    assert sum("Memcpy" in name for name in asked) == 10, "the next power of two is 2^10"
    assert block.numpy().tobytes() == pattern * count + b"\xff" * 8


def test_a_graph_keeps_what_it_fills(driver: Fake) -> None:
    a = wp.zeros(3, device="cuda:0")
    with wp.ScopedCapture("cuda:0") as capture:
        a.fill_(5.0)
    ptr = a.ptr
    del a
    assert ptr in driver.blocks
    del capture
    assert ptr not in driver.blocks


def test_views_change_the_array_and_nothing_else(driver: Fake) -> None:
    a = wp.array(np.arange(20, dtype=np.int32).reshape(4, 5), device="cuda:0")
    expected = np.arange(20, dtype=np.int32).reshape(4, 5)
    a[1:3, ::2].fill_(-1)
    expected[1:3, ::2] = -1
    a[::-1, 1].assign([100, 101, 102, 103])
    expected[::-1, 1] = [100, 101, 102, 103]
    a[0, 4] = 55
    expected[0, 4] = 55
    a[3] = [9, 8, 7, 6, 5]
    expected[3] = [9, 8, 7, 6, 5]
    np.testing.assert_array_equal(a.numpy(), expected)
    assert a[0, -1] == 55
    np.testing.assert_array_equal(a.transpose().numpy(), expected.T)
    a.transpose().zero_()
    assert not a.numpy().any()


def test_copies_between_devices(driver: Fake) -> None:
    host = wp.array(np.arange(6, dtype=np.float32))
    there = host.to("cuda:0")
    twin = there.clone()
    crossed = driver.fetched + driver.sent
    assert twin.ptr != there.ptr
    wp.copy(twin, there, dest_offset=2, src_offset=0, count=3)
    assert driver.fetched + driver.sent == crossed, "the GPU copies for itself"
    assert twin.numpy().tolist() == [0, 1, 0, 1, 2, 5]
    wp.copy(twin, twin, dest_offset=1, src_offset=0, count=5)
    assert twin.numpy().tolist() == [0, 0, 1, 0, 1, 2]
    wp.copy(host, twin)
    assert host.numpy().tolist() == [0, 0, 1, 0, 1, 2]
    with wp.ScopedDevice("cuda:0"):
        assert wp.zeros_like(host).device == "cpu"
        assert wp.zeros(2).device == "cuda:0"
    assert pickle.loads(pickle.dumps(twin)).numpy().tolist() == [0, 0, 1, 0, 1, 2]


def test_indexed_arrays(driver: Fake) -> None:
    a = wp.array(np.arange(5, dtype=np.int32), device="cuda:0")
    picked = wp.indexedarray(a, [[3, 0]])
    assert picked.numpy().tolist() == [3, 0]
    picked.assign([30, -1])
    assert a.numpy().tolist() == [-1, 1, 2, 30, 4]


def test_memory_is_freed(driver: Fake) -> None:
    a = wp.zeros(100, device="cuda:0")
    view = a[10:]
    del a
    assert len(driver.blocks) == 1
    del view
    assert not driver.blocks


def test_what_other_libraries_see(driver: Fake) -> None:
    a = wp.zeros((2, 3), dtype=wp.vec2, device="cuda:0")
    seen = a.__cuda_array_interface__
    assert seen["data"] == (a.ptr, False)
    assert seen["shape"] == (2, 3, 2)
    assert seen["strides"] == (24, 8, 4)
    assert seen["typestr"] == "<f4"
    assert a.__dlpack_device__() == (2, 0)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(1, 0))
    assert not hasattr(wp.zeros(2), "__cuda_array_interface__")
    assert not hasattr(a, "__array_interface__")


def test_memory_of_the_host_is_not_shared(driver: Fake) -> None:
    with pytest.raises(HealdError, match="cannot be shared with 'cuda:0'") as caught:
        wp.array(np.zeros(3, np.float32), device="cuda:0", copy=False)
    assert caught.value.codes == ("H0704",)


def test_tensors_of_dlpack_go_there_and_back(driver: Fake) -> None:
    a = wp.array(np.arange(12, dtype=np.float32).reshape(2, 2, 3), dtype=wp.vec3, device="cuda:0")
    for version in (None, (1, 0)):
        twin = wp.from_dlpack(a.__dlpack__(stream=-1, max_version=version), wp.vec3)
        assert (twin.ptr, twin.shape, twin.strides) == (a.ptr, a.shape, a.strides)
        assert twin.device == "cuda:0"
        np.testing.assert_array_equal(twin.numpy(), a.numpy())
    column = wp.from_dlpack(a[:, 1].__dlpack__())
    assert (column.shape, column.strides) == ((2, 3), (24, 4))
    ptr = a.ptr
    del a
    assert ptr in driver.blocks
    del twin, column
    assert ptr not in driver.blocks, "the last tensor was given back"


def test_a_capsule_that_nobody_takes_lets_go(driver: Fake) -> None:
    a = wp.zeros(3, device="cuda:0")
    capsule = a.__dlpack__()
    ptr = a.ptr
    del a
    assert ptr in driver.blocks
    del capsule
    assert ptr not in driver.blocks


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_who_cannot_take_a_capsule_says_why(
    driver: Fake, version: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The capsule is dropped while the error is on its way, in which no Python can run."""
    a, freed = wp.zeros(3, dtype=wp.vec3, device="cuda:0"), []
    weakref.finalize(a.owner, freed.append, "all")
    export = wp.array.__dlpack__
    monkeypatch.setattr(wp.array, "__dlpack__", lambda a, **options: export(a, max_version=version))
    with pytest.raises((BufferError, RuntimeError), match="Unsupported device"):
        np.from_dlpack(a)
    ptr = a.ptr
    assert not freed
    del a
    assert freed == ["all"]
    assert ptr not in driver.blocks


@pytest.mark.parametrize("t", [t for t in ELEMENTS if not isinstance(t, Struct)], ids=str)
def test_capsules_say_what_the_memory_holds(driver: Fake, t: Any) -> None:
    a = wp.array([sample(t, k) for k in range(6)], dtype=t, device="cuda:0")
    for part in (a, a.reshape(2, 3)[:, 1], a[:0], a[::2]):
        for version in (None, (1, 0)):
            tensor = foreign._opened(capsule := part.__dlpack__(max_version=version))[1].tensor
            assert (tensor.device_type, tensor.device_id) == wp.array.__dlpack_device__(a)
            twin = wp.from_dlpack(capsule, a.dtype)
            assert (twin.element_type, twin.shape, twin.list()) == (t, part.shape, part.list())
            assert twin.strides == part.strides
            assert not twin.size or twin.ptr == part.ptr


def test_capsules_name_the_gpu_that_they_are_of(
    driver: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: Any = devices.Gpu(driver, wp.Device("cuda:1", "another GPU", "cuda", 1))
    found = devices.Discovery((*devices.discover().gpus, other))
    monkeypatch.setattr(devices, "discover", lambda: found)
    a = wp.array([1.0, 2.0], dtype=float, device="cuda:1")
    for version in (None, (1, 0)):
        capsule = a.__dlpack__(stream=-1, max_version=version)
        assert foreign._opened(capsule)[1].tensor.device_id == 1 == a.__dlpack_device__()[1]
        twin = wp.from_dlpack(capsule)
        assert (twin.device, twin.ptr) == ("cuda:1", a.ptr)


def test_capsules_of_memory_that_is_only_read_say_so(driver: Fake) -> None:
    a = wp.zeros(3, device="cuda:0")
    fixed = wp.array(Foreign(a, data=(a.ptr, True)), copy=False)
    with pytest.raises(BufferError, match="readonly"):
        fixed.__dlpack__()
    assert wp.from_dlpack(fixed).read_only
    assert not wp.from_dlpack(a).read_only
    uneven = wp.array(ptr=a.ptr, shape=2, strides=(6,), dtype=wp.float16, device="cuda:0")
    assert wp.from_dlpack(uneven).strides == (6,)
    uneven = wp.array(ptr=a.ptr, shape=2, strides=(3,), dtype=wp.vec2b, device="cuda:0")
    assert wp.from_dlpack(uneven).strides == (3, 1)


class Foreign:
    """An array of another library on the GPU."""

    def __init__(self, a: wp.array, **changed: Any) -> None:
        self._said = {**a.__cuda_array_interface__, "owner": a, **changed}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._said


def test_arrays_of_other_libraries_are_shared_or_copied(driver: Fake) -> None:
    a = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), device="cuda:0")
    shared = wp.array(Foreign(a), copy=False)
    assert shared.ptr == a.ptr
    assert shared.device == "cuda:0"
    assert wp.array(Foreign(a), dtype=wp.vec3, copy=False).shape == (2,)
    dense = wp.array(Foreign(a, strides=None, stream=1), copy=False)
    assert dense.strides == (12, 4)
    copied = wp.array(Foreign(a))
    assert copied.ptr != a.ptr
    assert wp.array(Foreign(a), device="cpu").numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    copied.assign(Foreign(shared))
    assert copied.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert wp.array(Foreign(a, data=(a.ptr, True)), copy=False).read_only
    holder = SimpleNamespace(__cuda_array_interface__=a.__cuda_array_interface__)
    assert wp.array(holder, copy=False).ptr == a.ptr, "the object says it, not its type"
    with pytest.raises(HealdError, match="an object of type type"):
        wp.array(Foreign)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"typestr": "<c8"}, "H0712"),
        ({"typestr": ">f4"}, "H0712"),
        ({"shape": (2.5,)}, "H0712"),
        ({"stream": "x"}, "H0712"),
        ({"stream": -7}, "H0712"),
        ({"mask": object()}, "H0712"),
        ({"shape": (-1,)}, "H0711"),
        ({"shape": (1 << 62,)}, "H0711"),
        ({"shape": (0, 1 << 70), "strides": None}, "H0711"),
        ({"strides": (1 << 63,)}, "H0711"),
        ({"strides": (-1 << 62,)}, "H0711"),
        ({"data": (0, False)}, "H0711"),
        ({"data": (-8, False)}, "H0711"),
        ({"data": (1 << 63, False)}, "H0711"),
    ],
)
def test_memory_that_cannot_be_is_refused(driver: Fake, wrong: dict[str, Any], code: str) -> None:
    """Bounds checks go by the layout that an array has."""
    a = wp.zeros(6, device="cuda:0")
    for take in (
        wp.array,
        lambda x: wp.array(x, copy=False),
        lambda x: wp.launch(twice, dim=1, inputs=[x], device="cuda:0"),
    ):
        with pytest.raises(HealdError) as caught:
            take(Foreign(a, **wrong))
        assert caught.value.codes == (code,)
    nothing = {"shape": (0, 3), "strides": None, "data": (0, False)}
    assert wp.array(Foreign(a, **nothing), copy=False).shape == (0, 3)


def test_negative_strides_come_in_but_do_not_go_out_by_dlpack(driver: Fake) -> None:
    """Torch 2.11 ends the process where it takes such a capsule; CuPy 14 writes them unsigned."""
    a = wp.array(np.arange(6, dtype=np.float32), device="cuda:0")
    back = a[::-1]
    for array in (back, wp.zeros((3, 2))[:, ::-1]):
        with pytest.raises(BufferError, match="negative strides"):
            array.__dlpack__()
    assert back[:1].__dlpack__() is not None, "one element has no step"
    capsule = a[4::4].__dlpack__()
    tensor = foreign._Plain.from_address(foreign._pointer(id(capsule), b"dltensor")).tensor
    tensor.shape[0], tensor.strides[0] = 5, (2**64 - 4) // 4
    taken = wp.from_dlpack(capsule)
    assert taken.strides == (-4,)
    assert taken.numpy().tolist() == [4, 3, 2, 1, 0]
    assert wp.array(Foreign(back), copy=False).numpy().tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("shape", "stride"), [((-1,), 1), ((1 << 62,), 1), ((3,), -(1 << 61))], ids=str
)
def test_capsules_of_memory_that_cannot_be_are_refused(
    driver: Fake, shape: tuple[int], stride: int
) -> None:
    capsule = wp.zeros(3, device="cuda:0").__dlpack__()
    tensor = foreign._Plain.from_address(foreign._pointer(id(capsule), b"dltensor")).tensor
    tensor.shape[0], tensor.strides[0] = *shape, stride
    with pytest.raises(HealdError) as caught:
        wp.from_dlpack(capsule)
    assert caught.value.codes == ("H0711",)


@wp.kernel
def twice(a: wp.array(dtype=float)):
    a[wp.tid()] *= 2.0


def test_arrays_of_a_gpu_are_no_arguments_on_the_cpu(driver: Fake) -> None:
    a = wp.zeros(3, device="cuda:0")
    for given in (a, Foreign(a)):
        with pytest.raises(HealdError) as caught:
            wp.launch(twice, dim=3, inputs=[given], device="cpu")
        assert caught.value.codes == ("H0704",)


def test_pinned_memory_crosses_by_itself(driver: Fake) -> None:
    pinned = wp.array(np.arange(5, dtype=np.float32), device="cpu", pinned=True)
    assert pinned.pinned
    assert not hasattr(pinned, "packed"), "launch entries do not wait for copies"
    there = wp.empty(5, device="cuda:0")
    wp.copy(there, pinned)
    back = wp.zeros(5, device="cpu", pinned=True)
    wp.copy(back, there)
    assert back.numpy().tolist() == [0, 1, 2, 3, 4]
    assert back[2:].pinned
    assert not there.pinned


def test_launches_of_the_host_wait_for_copies(driver: Fake) -> None:
    pinned = wp.zeros(3, device="cpu", pinned=True)
    command = wp.launch(twice, dim=3, inputs=[pinned], device="cpu", record_cmd=True)
    for run in (command.launch, lambda: wp.launch(twice, dim=3, inputs=[pinned], device="cpu")):
        for _ in range(4):
            wp.copy(pinned, wp.ones(3, device="cuda:0"))
            waited = driver.waited
            run()
            assert driver.waited == waited + 1
            assert pinned.numpy().tolist() == [2.0] * 3


def test_memory_of_others_is_given_back_after_the_work_that_uses_it(driver: Fake) -> None:
    given: list[tuple[int, int, int]] = []
    memory = wp.zeros(8, device="cuda:0")

    def give_back(ptr: int, nbytes: int) -> None:
        given.append((ptr, nbytes, driver.waited))

    a = wp.array(ptr=memory.ptr, shape=8, dtype=wp.float32, device="cuda:0", deleter=give_back)
    view, waited = a[2:], driver.waited
    del a
    assert not given
    del view
    assert given == [(memory.ptr, 32, waited + 1)]


def test_tables_change_between_all_work_before_and_all_behind(
    driver: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    act = type(driver).__call__

    def noted(self: Fake, name: str, *arguments: Any) -> None:
        if name in ("cuCtxSynchronize", "cuMemcpyHtoDAsync_v2"):
            calls.append(name)
        act(self, name, *arguments)

    monkeypatch.setattr(Fake, "__call__", noted)
    table = wp.constant(np.arange(3, dtype=np.float32))
    device = wp.get_device("cuda:0")
    copied = table.on(device)
    assert calls == ["cuMemcpyHtoDAsync_v2", "cuCtxSynchronize"]
    assert table.on(device) is copied
    calls.clear()
    table.assign([7, 8, 9])
    assert calls == ["cuCtxSynchronize", "cuMemcpyHtoDAsync_v2", "cuCtxSynchronize"]
    assert copied.numpy().tolist() == table.numpy().tolist() == [7.0, 8.0, 9.0]


def test_gaps_are_no_matter_of_the_host(driver: Fake) -> None:
    numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    a = wp.array(numbers, device="cuda:0")
    crossed = driver.fetched + driver.sent
    turned = a.transpose((2, 0, 1)).contiguous()
    b = wp.zeros((2, 3, 8), dtype=float, device="cuda:0")
    b[:, ::-1, ::2].assign(a)
    wp.copy(b[:, 0, 1::2], a[:, 0])
    a[:, 1, ::3].fill_(-1.0)
    a[:, 2, ::3].zero_()
    moved = driver.moved
    assert moved == 5
    assert driver.fetched + driver.sent == crossed, "the GPU copies for itself"
    np.testing.assert_array_equal(turned.numpy(), numbers.transpose(2, 0, 1))
    expected = np.zeros((2, 3, 8), np.float32)
    expected[:, ::-1, ::2] = numbers
    expected[:, 0, 1::2] = numbers[:, 0]
    np.testing.assert_array_equal(b.numpy(), expected)
    numbers[:, 1, ::3], numbers[:, 2, ::3] = -1, 0
    np.testing.assert_array_equal(a.numpy(), numbers)


def test_parts_of_one_array_change_places_on_the_gpu(driver: Fake) -> None:
    a = wp.array(np.arange(10, dtype=np.int64), device="cuda:0")
    crossed = driver.fetched + driver.sent
    a[::2].assign(a[1::2])
    a[1:].assign(a[:-1])
    a.assign(a[::-1])
    assert driver.fetched + driver.sent == crossed
    expected = np.arange(10)
    expected[::2] = expected[1::2]
    expected[1:] = expected[:-1].copy()
    np.testing.assert_array_equal(a.numpy(), expected[::-1])


def test_vectors_and_large_elements_with_gaps(driver: Fake) -> None:
    points = wp.array(np.arange(24).reshape(8, 3), dtype=wp.vec3, device="cuda:0")
    np.testing.assert_array_equal(points[::-2].contiguous().numpy()[0], [21, 22, 23])
    crossed = driver.fetched + driver.sent
    points[1::4].fill_(wp.vec3(1.0, 2.0, 3.0))
    assert driver.fetched + driver.sent == crossed
    np.testing.assert_array_equal(points.numpy()[5], [1, 2, 3])
    assert driver.moved == 2


def test_axes_that_are_longer_than_an_index_are_moved_in_parts(
    driver: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "i32", SimpleNamespace(highest=10))
    a = wp.zeros((3, 2 * 25), dtype=wp.int64, device="cuda:0")
    expected = np.zeros((3, 2 * 25), np.int64)
    a[1:, ::2].fill_(7)
    expected[1:, ::2] = 7
    assert driver.moved == 4
    a[:, 1::2].assign(a[:, ::2])
    expected[:, 1::2] = expected[:, ::2]
    assert driver.fetched + driver.sent == 0
    np.testing.assert_array_equal(a.numpy(), expected)


def test_elements_of_several_words_with_gaps_on_all_sides(driver: Fake) -> None:
    a = wp.zeros((4, 5, 6, 7), dtype=wp.vec3, device="cuda:0")
    expected = np.zeros((4, 5, 6, 7, 3), np.float32)
    a[::2, ::-2, 1::2, ::3].fill_(wp.vec3(1.0, 2.0, 3.0))
    expected[::2, ::-2, 1::2, ::3] = [1, 2, 3]
    assert driver.fetched + driver.sent == 0
    np.testing.assert_array_equal(a.numpy(), expected)


def test_elements_on_each_other_keep_the_last(driver: Fake) -> None:
    shared = wp.zeros(1, dtype=int, device="cuda:0")
    same = wp.array(ptr=shared.ptr, shape=(4,), strides=(0,), dtype=int, device="cuda:0")
    same.assign(wp.array([1, 2, 3, 4], dtype=int, device="cuda:0"))
    assert shared.numpy().tolist() == [4]
    assert driver.moved == 0


@pytest.fixture
def order(driver: Fake, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was given to streams: marks and waits, with the stream, and copies."""
    given: list[tuple[str, int]] = []
    act = type(driver).__call__
    place = {"cuEventRecord": 1, "cuStreamWaitEvent": 0, "cuMemcpyDtoDAsync_v2": 3}

    def noted(self: Fake, name: str, *arguments: Any) -> None:
        if name in place:
            given.append((name, arguments[place[name]].value))
        act(self, name, *arguments)

    monkeypatch.setattr(Fake, "__call__", noted)
    return given


def test_the_stream_of_a_launch_waits_for_arrays_of_others(
    order: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the current one, which is as it was afterwards."""
    monkeypatch.setattr(launch, "find_program", lambda *_: (SimpleNamespace(launches=0), []))
    monkeypatch.setattr(launch, "run_program", lambda *_: None)
    a, side = wp.zeros(3, device="cuda:0"), wp.Stream("cuda:0")
    usual = wp.get_stream("cuda:0")
    for stream, expected in ((side, side), (None, usual)):
        order.clear()
        wp.launch(
            twice,
            dim=3,
            inputs=[Foreign(a, stream=77)],
            stream=stream,
            device=None if stream else "cuda:0",
        )
        assert order == [("cuEventRecord", 77), ("cuStreamWaitEvent", expected.cuda_stream)]
        assert wp.get_stream("cuda:0") is usual
    with pytest.raises(HealdError):
        wp.launch(twice, dim=3, inputs=[], stream=side)
    assert wp.get_stream("cuda:0") is usual


def test_others_use_memory_again_when_it_was_copied(order: list[tuple[str, int]]) -> None:
    a = wp.zeros(3, device="cuda:0")
    ours = wp.get_stream("cuda:0").cuda_stream
    order.clear()
    wp.array(Foreign(a, stream=77))
    assert order == [
        *([("cuEventRecord", 77), ("cuStreamWaitEvent", ours)] * 2),  # once for the device
        ("cuMemcpyDtoDAsync_v2", ours),
        ("cuEventRecord", ours),
        ("cuStreamWaitEvent", 77),
    ]


class Tensor(Foreign):
    """A tensor of torch, which notes who it is told uses its memory."""

    def __init__(self, a: wp.array, used: list[int]) -> None:
        super().__init__(a, stream=None)
        self.used = used
        self.capsule = a.__dlpack__(stream=-1)

    def is_neg(self) -> bool:
        return False

    def record_stream(self, stream: int) -> None:
        self.used.append(stream)

    def __dlpack__(self, **_: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


@pytest.fixture
def torch(driver: Fake, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Torch with a current stream of its own, ``theirs``."""
    theirs = SimpleNamespace(cuda_stream=77)
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        current_stream=lambda device: theirs,
        ExternalStream=lambda handle, device: handle,
    )
    made = SimpleNamespace(Tensor=Tensor, cuda=cuda, theirs=theirs)
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


@pytest.mark.parametrize(
    "take", [lambda t: wp.array(t, device="cuda:0", copy=False), wp.from_dlpack]
)
def test_torch_hears_who_uses_its_memory(
    order: list[tuple[str, int]], torch: SimpleNamespace, take: Any
) -> None:
    """Its tensors do not tell its stream; by DLPack it lets ours wait by itself."""
    used: list[int] = []
    a = wp.zeros(3, device="cuda:0")
    ours = wp.get_stream("cuda:0").cuda_stream
    by_dlpack = take is wp.from_dlpack

    def taken() -> list[tuple[str, int]]:
        tensor = Tensor(a, used)
        order.clear()
        take(tensor)
        return list(order)

    assert taken() == ([] if by_dlpack else [("cuEventRecord", 77), ("cuStreamWaitEvent", ours)])
    assert used == [ours]
    for same in (0, ours):  # CUDA orders the first with ours by itself
        torch.theirs.cuda_stream = same
        assert taken() == []
    assert used == [ours]
    torch.theirs.cuda_stream = 0
    with wp.ScopedStream(wp.Stream("cuda:0", cuda_stream=99), sync_enter=False):
        assert taken() == ([] if by_dlpack else [("cuEventRecord", 1), ("cuStreamWaitEvent", 99)])
    assert used == [ours, 99]


@pytest.mark.parametrize("way", ["interface", "capsule"])
def test_torch_waits_for_what_it_gets(
    order: list[tuple[str, int]], torch: SimpleNamespace, way: str
) -> None:
    """``torch.as_tensor(a)`` does not look at the stream that the interface names."""
    a = wp.zeros(3, device="cuda:0")
    ours = wp.get_stream("cuda:0").cuda_stream

    def give() -> list[tuple[str, int]]:
        order.clear()
        stream = torch.theirs.cuda_stream or 1
        _ = a.__cuda_array_interface__ if way == "interface" else a.__dlpack__(stream=stream)
        return list(order)

    handed = [("cuEventRecord", ours), ("cuStreamWaitEvent", 77)]
    assert give()[:2] == handed
    assert give() == handed
    known = {stream.cuda_stream for stream in devices.discover().gpus[0].streams}
    assert 77 in known, "memory is freed after the work that torch was given with it"
    torch.theirs.cuda_stream = ours
    assert give() == []
    torch.theirs.cuda_stream = 0
    order_of_cuda = (
        [] if way == "interface" else [("cuEventRecord", ours), ("cuStreamWaitEvent", 1)]
    )
    assert give() == order_of_cuda
    torch.cuda.is_initialized = lambda: False
    torch.theirs.cuda_stream = 77
    assert way == "capsule" or give() == [], "torch is not asked before it has used a GPU"


def test_streams_that_torch_knows_stay(
    driver: Fake, torch: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It marks them when it frees a tensor, and ends the process where one is gone."""
    gone: list[int] = []
    monkeypatch.setattr(
        driver, "cuStreamDestroy_v2", lambda handle: gone.append(handle.value), raising=False
    )
    tensor = Tensor(wp.zeros(3, device="cuda:0"), [])
    told, plain = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    with wp.ScopedStream(told):
        wp.array(tensor, device="cuda:0", copy=False)
    handles = told.cuda_stream, plain.cuda_stream
    assert tensor.used == [handles[0]]
    del told, plain
    assert gone == [handles[1]]
    assert wp.Stream("cuda:0", priority=-1).cuda_stream not in handles
    again = wp.Stream("cuda:0")
    assert again.cuda_stream == handles[0]
    assert wp.Stream("cuda:0").cuda_stream not in handles


@pytest.mark.parametrize("error", [RuntimeError("use detach()"), KeyError("bfloat16")])
def test_who_does_not_tell_what_memory_holds_is_refused(driver: Fake, error: Exception) -> None:
    """Torch raises these of tensors that record gradients, and of types without a letter."""

    class Tensor:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            raise error

    for take in (
        wp.array,
        lambda t: wp.array(t, copy=False),
        lambda t: wp.launch(twice, dim=3, inputs=[t], device="cuda:0"),
        wp.zeros(3, device="cuda:0").assign,
    ):
        with pytest.raises(HealdError) as caught:
            take(Tensor())
        assert caught.value.codes == ("H0712",)
        assert error.args[0] in str(caught.value)


def test_a_sign_that_only_torch_knows_is_refused(
    torch: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ``z.conj().imag``: its memory holds the numbers of ``z.imag``."""

    monkeypatch.setattr(Tensor, "is_neg", lambda _: True)
    tensor = Tensor(wp.zeros(3, device="cuda:0"), [])
    for take in (
        wp.array,
        wp.from_dlpack,
        lambda t: wp.array(t, copy=False),
        lambda t: wp.launch(twice, dim=3, inputs=[t], device="cuda:0"),
        wp.zeros(3, device="cuda:0").assign,
    ):
        with pytest.raises(HealdError) as caught:
            take(tensor)
        assert caught.value.codes == ("H0711",)
        assert "t.resolve_neg()" in str(caught.value)


def test_nothing_of_ours_is_drawn_into_a_graph_of_others(
    order: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their stream is to be worked on, then the graph has the work."""

    def is_capturing(self: Fake, stream: Any, state: Any) -> None:
        state._obj.value = stream.value == 77

    monkeypatch.setattr(Fake, "cuStreamIsCapturing", is_capturing, raising=False)
    a = wp.zeros(3, device="cuda:0")
    order.clear()
    for share in (
        lambda: wp.array(Foreign(a, stream=77), device="cuda:0", copy=False),
        lambda: wp.launch(twice, dim=3, inputs=[Foreign(a, stream=77)], device="cuda:0"),
        lambda: a.__dlpack__(stream=77),
    ):
        said = r"H0811.*captures the stream[\s\S]* --> .*test_gpu_arrays.py:\d+"
        with pytest.raises((HealdError, BufferError), match=said):
            share()
    with wp.ScopedCapture("cuda:0"):
        order.clear()
        with pytest.raises(HealdError, match="H0811"):
            wp.array(Foreign(a, stream=1), device="cuda:0", copy=False)
    assert order == []
    with wp.ScopedStream(wp.Stream("cuda:0", cuda_stream=77), sync_enter=False):
        wp.array(Foreign(a, stream=77), device="cuda:0", copy=False)
    assert order == []
