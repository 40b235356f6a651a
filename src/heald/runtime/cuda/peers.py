"""GPUs that reach the memory of each other."""

from __future__ import annotations

import ctypes

from heald.runtime.cuda.devices import gpu_of
from heald.runtime.cuda.memory import default_pool
from heald.runtime.device import Device

_READ_AND_WRITE, _NO_ACCESS, _OF_A_DEVICE = 3, 0, 1
_ENABLED_ALREADY, _NOT_ENABLED = 704, 705
_ENABLED: set[tuple[str, str]] = set()


class _Access(ctypes.Structure):
    """Who may do what with a pool (CUmemAccessDesc)."""

    _fields_ = (("kind", ctypes.c_int), ("number", ctypes.c_int), ("flags", ctypes.c_int))


def is_supported(target: Device, peer: Device) -> bool:
    """Can ``peer`` reach memory of ``target``?"""
    answer = ctypes.c_int()
    gpus = gpu_of(peer), gpu_of(target)
    with gpus[0].active() as call:
        handles = (gpus[0].handle, gpus[1].handle)
        call("cuDeviceCanAccessPeer", ctypes.byref(answer), *handles)
    return bool(answer.value)


def is_enabled(target: Device, peer: Device) -> bool:
    """May it?"""
    return (target.alias, peer.alias) in _ENABLED


def enable(target: Device, peer: Device, on: bool) -> None:
    """Let ``peer`` reach memory of ``target``, that of its pool and other, or no more."""
    if on == is_enabled(target, peer):
        return
    owner, user = gpu_of(target), gpu_of(peer)
    context = ctypes.c_void_p(owner.context)
    with user.active() as call:
        if on:
            call.ask("cuCtxEnablePeerAccess", context, ctypes.c_uint(0), no=_ENABLED_ALREADY)
        else:
            call.ask("cuCtxDisablePeerAccess", context, no=_NOT_ENABLED)
    if owner.has_pools:
        access = _Access(_OF_A_DEVICE, user.handle.value, _READ_AND_WRITE if on else _NO_ACCESS)
        with owner.active() as call:
            pool, count = default_pool(owner), ctypes.c_size_t(1)
            call("cuMemPoolSetAccess", pool, ctypes.byref(access), count)
    key = (target.alias, peer.alias)
    if on:
        _ENABLED.add(key)
    else:
        _ENABLED.discard(key)
