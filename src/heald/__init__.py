"""Heald: a GPU kernel language inside Python.  Kernels are proved safe before they run and give the
same
bits on every device.

``import heald as wp`` is cheap: every name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

try:
    from heald.config import config as config
except ValueError as error:  # of a HEALD_ variable: what says so are its words, not places in here
    command = importlib.import_module("heald.command")
    if command.is_command():
        raise command.refuse(str(error)) from None
    raise error.with_traceback(None) from None

__version__ = "0.1.0"

_SCALARS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
_VALUES = " ".join(
    [
        *(
            f"vec{n}{s}"
            for n in (2, 3, 4)
            for s in ["h", "f", "d", "b", "ub", "s", "us", "i", "ui", "l", "ul"]
        ),
        *(f"vec{n}" for n in (2, 3, 4)),
        *(f"mat{n}{n}{s}" for n in (2, 3, 4) for s in ("", "h", "f", "d")),
        *(f"{name}{s}" for name in ("quat", "transform") for s in ("", "h", "f", "d")),
        *(f"spatial_{name}{s}" for name in ("vector", "matrix") for s in ("", "h", "f", "d")),
    ]
)
_PLACES = {
    "api.kernel": "kernel overload Kernel Module get_kernel get_module",
    "api.function": "func Function",
    "api.struct": "struct",
    "api.verify": "verify",
    "api.sequence": "verify_sequence",
    "api.launch": "launch",
    "api.command": "Launch",
    "api.options": "init set_module_options get_module_options load_module force_load "
    "clear_kernel_cache",
    "api.storage": "save_ir load_ir",
    "api.build": "build",
    "api.array": "array",
    "api.array_contracts": "index within",
    "api.array_ranked": "array1d array2d array3d array4d indexedarray1d indexedarray2d "
    "indexedarray3d indexedarray4d",
    "api.creation": "zeros zeros_like ones ones_like full full_like empty empty_like copy clone "
    "from_numpy from_ptr",
    "api.indexed": "indexedarray",
    "api.dlpack": "from_dlpack",
    "api.mapping": "map",
    "interop.torch": "from_torch to_torch dtype_from_torch dtype_to_torch device_from_torch "
    "device_to_torch stream_from_torch stream_to_torch",
    "api.streams": "Stream Event Graph ScopedStream ScopedCapture ScopedMempool get_stream "
    "set_stream wait_stream wait_event record_event get_event_elapsed_time synchronize_stream "
    "synchronize_event capture_begin capture_end capture_launch capture_if capture_while "
    "is_conditional_graph_supported is_mempool_supported "
    "is_mempool_enabled set_mempool_enabled set_mempool_release_threshold "
    "get_mempool_release_threshold get_mempool_used_mem_current get_mempool_used_mem_high "
    "is_peer_access_supported is_peer_access_enabled set_peer_access_enabled ScopedPeerAccess "
    "is_mempool_access_supported is_mempool_access_enabled set_mempool_access_enabled",
    "api.devices": "ScopedDevice ScopedTimer get_devices get_preferred_device is_cpu_available "
    "is_cuda_available is_device_available get_cuda_devices get_cuda_device_count "
    "synchronize_device",
    "api.intrinsics": "tid block_dim static constant printf expect_eq expect_neq expect_near "
    "assume requires ensures invariant "
    "atomic_add atomic_sub atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_exch "
    "atomic_cas",
    "library.blocks": "reduce_sum reduce_min reduce_max",
    "api.blocks": "thread_index block_index block_threads shared_array block_sync shuffle_idx "
    "shuffle_up shuffle_down shuffle_xor ballot any all warp_map",
    "api.values": f"{_VALUES} vec mat",
    "api.constants": "e E half_pi HALF_PI inf INF ln10 LN10 ln2 LN2 log10e LOG10E log2e LOG2E "
    "nan NAN phi PHI pi PI tau TAU",
    "api.constructors": "vector matrix quaternion transformation",
    "runtime": "Device get_device set_device synchronize",
    "library.language": f"{_SCALARS} Float Int Scalar",
    "diagnostics": "HealdError CompileError TypingError LaunchError KernelFault OutOfBoundsError "
    "Hint DivisionFault AssertFault ProofError DeviceError InternalError",
    "typing": "Any",
    "geometry": "HashGrid",
}
_MODULE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}
_MODULE_OF["bool"] = "library.language"
_PACKAGES = ("types", "utils")
_BUILTINS: dict[str, Any] = {}
"""Builtins as they were loaded."""
_ABSENT = object()
_OF_OTHERS = {
    "syncthreads": "write wp.block_sync()",
    "sync_threads": "write wp.block_sync()",
    "shared": "write wp.shared_array(shape, dtype)",
}
"""Names of Numba and CUDA, and what to write here."""
_SPELLED = {name: f"{name}_" for name in ("bool", "map", "any", "all")}
"""Names that would hide Python's own where they are defined."""


def __getattr__(name: str) -> Any:
    """A public name, loaded on first use: classes and functions of the packages, then builtins."""
    if name.startswith("_"):  # what Python and others ask of every module
        raise AttributeError(f"module 'heald' has no attribute {name!r}")
    importlib.import_module("heald.api")  # completes ``wp.types``
    place = _MODULE_OF.get(name)
    if name in _PACKAGES:
        value = importlib.import_module(f"heald.{name}")
    elif place is not None:
        home = "typing" if place == "typing" else f"heald.{place}"
        module = importlib.import_module(home)
        importlib.import_module("heald.api.edge").guard_public(_PLACES)
        value = getattr(module, _SPELLED.get(name, name))
    else:
        value = importlib.import_module("heald.api.builtins").find_builtin(name)
        if value is None:
            hint = __heald_hint__(name)
            raise AttributeError(f"module 'heald' has no attribute {name!r}{hint and f'; {hint}'}")
        _BUILTINS[name] = value
    globals()[name] = value
    return value


def __heald_hint__(name: str) -> str:  # noqa: N807 - a protocol of ours, as below
    """What to write in place of a name that is not here; empty where nothing comes to mind."""
    if name in _OF_OTHERS:
        return _OF_OTHERS[name]
    differences = importlib.import_module("heald.differences")
    known = differences.match(name, exact=True)
    if known is not None:
        return str(known.remedy)
    near = importlib.import_module("heald.frontend.session").near_miss(name, __dir__())
    if near:
        return f"did you mean {near}?"
    known = differences.match(name, exact=False)
    return "" if known is None else str(known.remedy)


def __heald_own__(name: str) -> bool:  # noqa: N807 - as `__heald_type__`: a protocol of ours
    """Does a name here stand for a builtin, or for nothing, and has nobody changed that?

    Then what it means follows from the name, and it need not be loaded.
    """
    if name in _MODULE_OF or name in _PACKAGES:
        return False
    return globals().get(name, _ABSENT) is _BUILTINS.get(name, _ABSENT)


def __dir__() -> list[str]:
    builtins = importlib.import_module("heald.api.builtins").builtin_names()
    return sorted({"config", "__version__", *_MODULE_OF, *builtins})
