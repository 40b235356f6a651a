"""GPUs that reach the memory of each other: that of their pools, and other memory."""

from __future__ import annotations

import ctypes

from heald.runtime.cuda.devices import gpu_of
from heald.runtime.cuda.memory import default_pool
from heald.runtime.device import Device

_READ_AND_WRITE, _NO_ACCESS, _OF_A_DEVICE = 3, 0, 1
_ENABLED_ALREADY, _NOT_ENABLED = 704, 705
_CONTEXTS: set[tuple[str, str]] = set()
_POOLS: set[tuple[str, str]] = set()
"""Whose memory is reached, and by whom."""


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


def is_enabled(target: Device, peer: Device, *, pool: bool = False) -> bool:
    """May it reach memory that is not of the pool, or that of the pool?"""
    return (target.alias, peer.alias) in (_POOLS if pool else _CONTEXTS)


def enable(target: Device, peer: Device, on: bool) -> None:
    """Let ``peer`` reach all memory of ``target``, or no more."""
    user = gpu_of(peer)
    context = ctypes.c_void_p(gpu_of(target).context)
    if on != is_enabled(target, peer):
        with user.active() as call:
            if on:
                call.ask("cuCtxEnablePeerAccess", context, ctypes.c_uint(0), no=_ENABLED_ALREADY)
            else:
                call.ask("cuCtxDisablePeerAccess", context, no=_NOT_ENABLED)
        _remember(_CONTEXTS, target, peer, on)
    if gpu_of(target).has_pools:
        enable_pool(target, peer, on)


def enable_pool(target: Device, peer: Device, on: bool) -> None:
    """Let ``peer`` reach the pool of ``target``, or no more."""
    if on == is_enabled(target, peer, pool=True):
        return
    owner, number = gpu_of(target), gpu_of(peer).handle.value
    access = _Access(_OF_A_DEVICE, number, _READ_AND_WRITE if on else _NO_ACCESS)
    with owner.active() as call:
        call("cuMemPoolSetAccess", default_pool(owner), ctypes.byref(access), ctypes.c_size_t(1))
    _remember(_POOLS, target, peer, on)


def _remember(pairs: set[tuple[str, str]], target: Device, peer: Device, on: bool) -> None:
    if on:
        pairs.add((target.alias, peer.alias))
    else:
        pairs.discard((target.alias, peer.alias))
