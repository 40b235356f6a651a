"""Resource tables: bytes as kernels read them, handles that never match again, lifetime,
threads."""

import gc
import struct
import threading
import weakref

import numpy as np
import pytest

from heald.artifact import abi
from heald.diagnostics import DeviceError, InternalError
from heald.runtime import CPU, SIM, Resource, ResourceArray, ResourceTable, allocate, table_of
from heald.runtime import resources as module


def record(table, handle):
    """The bytes of a handle's slot, as a kernel would see them."""
    snapshot = table.hold()
    try:
        at = (handle & 0xFFFFFFFF) * abi.RESOURCE_SIZE
        return bytes(snapshot.memory.buffer[at : at + abi.RESOURCE_SIZE])
    finally:
        table.let_go(snapshot)


def matches(table, handle):
    """Would a kernel accept the handle?"""
    return struct.unpack_from("<Q", record(table, handle))[0] == handle


def array(nbytes=16):
    block = allocate(nbytes, zeroed=True)
    return ResourceArray(block.ptr, nbytes // 4, 4, block)


def test_a_handle_is_kind_generation_index():
    table = ResourceTable(4)
    first, second = table.register(7), table.register(200)
    assert first == 7 << 56 | 1 << 32 | 0
    assert second == 200 << 56 | 1 << 32 | 1


def test_a_record_holds_scalars_in_low_bytes_and_arrays():
    table = ResourceTable(2)
    arrays = [array(16), array(32)]
    handle = table.register(3, [np.float32(1.5), np.int64(-2), np.uint8(255)], arrays)
    data = record(table, handle)
    assert struct.unpack_from("<Q", data) == (handle,)
    assert struct.unpack_from("<fi", data, abi.RESOURCE_SCALARS) == (1.5, 0)
    assert struct.unpack_from("<q", data, abi.RESOURCE_SCALARS + 8) == (-2,)
    assert struct.unpack_from("<Q", data, abi.RESOURCE_SCALARS + 16) == (255,)
    for slot, a in enumerate(arrays):
        at = abi.RESOURCE_ARRAYS + slot * abi.RESOURCE_ARRAY_SIZE
        assert struct.unpack_from("<Qqq", data, at) == (a.ptr, a.extent, 4)
    rest = abi.RESOURCE_ARRAYS + 2 * abi.RESOURCE_ARRAY_SIZE
    assert data[rest:] == bytes(abi.RESOURCE_SIZE - rest)


def test_a_full_record_stays_inside_its_slot():
    table = ResourceTable(3)
    table.register(1)
    full = table.register(
        2, [np.uint64(2**64 - 1)] * abi.RESOURCE_SCALAR_COUNT, [array()] * abi.RESOURCE_ARRAY_COUNT
    )
    third = table.register(3)
    data = record(table, full)
    end = abi.RESOURCE_ARRAYS + abi.RESOURCE_ARRAY_COUNT * abi.RESOURCE_ARRAY_SIZE
    assert end <= abi.RESOURCE_SIZE
    assert struct.unpack_from("<q", data, end - 8) == (4,)
    assert matches(table, third)


def test_too_much_for_a_record_is_our_bug():
    table = ResourceTable(1)
    with pytest.raises(InternalError):
        table.register(1, [np.int32(0)] * 9)
    with pytest.raises(InternalError):
        table.register(1, [], [array()] * 8)
    with pytest.raises(InternalError):
        table.register(1, [3])
    for kind in (0, 256):
        with pytest.raises(InternalError):
            table.register(kind)
    table.register(1)  # nothing above took the slot


def test_updates_replace_everything_behind_the_same_handle():
    table = ResourceTable(2)
    handle = table.register(3, [np.int32(5), np.int32(6)], [array()])
    table.update(Resource(handle, (np.int32(9),), ()))
    data = record(table, handle)
    assert struct.unpack_from("<Qqq", data) == (handle, 9, 0)
    assert data[abi.RESOURCE_ARRAYS :] == bytes(abi.RESOURCE_SIZE - abi.RESOURCE_ARRAYS)
    assert table.look_up(handle).scalars == (9,)


def test_released_handles_never_match_again():
    table = ResourceTable(1)
    seen = []
    for _ in range(50):
        handle = table.register(5)
        assert matches(table, handle)
        table.release(handle)
        seen.append(handle)
        assert not any(matches(table, old) for old in seen)
    assert len(set(seen)) == 50
    assert record(table, handle) == bytes(abi.RESOURCE_SIZE)


def test_stale_and_foreign_handles():
    table = ResourceTable(2)
    handle = table.register(5)
    other_kind = handle ^ (5 ^ 6) << 56
    assert table.look_up(other_kind) is None
    assert table.look_up(0) is None
    assert table.look_up(handle + 1) is None
    assert table.look_up(handle + (1 << 32)) is None
    table.release(other_kind)
    assert table.look_up(handle) is not None
    table.release(handle)
    table.release(handle)
    assert table.look_up(handle) is None
    with pytest.raises(DeviceError) as caught:
        table.update(Resource(handle, (), ()))
    assert caught.value.codes == ("H0406",)


def test_a_slot_whose_generations_are_used_up_is_retired(monkeypatch):
    monkeypatch.setattr(module, "_LAST_GENERATION", 2)
    table = ResourceTable(2)
    handles = []
    for _ in range(4):
        handle = table.register(1)
        handles.append(handle)
        table.release(handle)
    assert len(set(handles)) == 4
    with pytest.raises(DeviceError):
        table.register(1)


def test_a_full_table_says_so():
    table = ResourceTable(2)
    first = table.register(1)
    table.register(1)
    with pytest.raises(DeviceError) as caught:
        table.register(1)
    assert caught.value.codes == ("H0803",)
    assert "at most 2" in str(caught.value)
    table.release(first)
    table.register(1)


def test_the_table_keeps_arrays_alive_until_release():
    table = ResourceTable(1)

    class Owner:
        pass

    owner = Owner()
    gone = weakref.ref(owner)
    handle = table.register(1, [], [ResourceArray(64, 1, 4, owner)])
    del owner
    gc.collect()
    assert gone() is not None
    table.update(Resource(handle, (np.int32(1),), ()))
    gc.collect()
    assert gone() is None


def test_a_running_launch_sees_the_table_as_it_was():
    table = ResourceTable(2)

    class Owner:
        pass

    owner = Owner()
    gone = weakref.ref(owner)
    handle = table.register(1, [np.int32(1)], [ResourceArray(64, 1, 4, owner)])
    del owner
    held = table.hold()
    before = bytes(held.memory.buffer)
    table.update(Resource(handle, (np.int32(2),), ()))
    table.register(2)
    table.release(handle)
    gc.collect()
    assert bytes(held.memory.buffer) == before
    assert gone() is not None
    assert not matches(table, handle)
    table.let_go(held)
    del held
    gc.collect()
    assert gone() is None


def test_the_address_is_that_of_the_records():
    table = ResourceTable(2)
    held = table.hold()
    assert held.ptr == held.memory.buffer.ctypes.data
    table.let_go(held)
    again = table.hold()
    assert again is held  # nothing changed, so nothing was copied
    table.let_go(again)


def test_a_release_in_the_middle_of_another_change_is_not_lost():
    """What a finaliser does: it may run while this very thread holds the lock."""
    table = ResourceTable(2)
    handle, other = table.register(1), table.register(1)
    with table._lock:
        table.release(handle)
        assert handle in table._released
    assert table.look_up(handle) is None
    assert table.look_up(other) is not None


def test_many_threads():
    table = ResourceTable(64)
    errors = []

    def work(kind):
        try:
            for n in range(200):
                handle = table.register(kind, [np.int64(n)], [array()])
                assert table.look_up(handle).scalars == (n,)
                held = table.hold()
                at = (handle & 0xFFFFFFFF) * abi.RESOURCE_SIZE
                words = struct.unpack_from("<Qq", held.memory.buffer.data, at)
                table.update(Resource(handle, (np.int64(-n),), ()))
                assert words == (handle, n)
                assert struct.unpack_from("<Qq", held.memory.buffer.data, at) == words
                table.let_go(held)
                table.release(handle)
                assert table.look_up(handle) is None
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work, args=(k + 1,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert table.live() == {}


def test_every_device_has_a_table_of_its_own():
    assert table_of(CPU) is not table_of(SIM)
    assert table_of(CPU) is table_of(CPU)
    handle = table_of(CPU).register(1)
    assert table_of(SIM).look_up(handle) is None
    table_of(CPU).release(handle)
