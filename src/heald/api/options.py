"""Module options, loading ahead of launches, and the kernel caches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any

from heald.api.devices import ScopedDevice
from heald.api.edge import at_edge
from heald.api.kernel import Kernel, Module, get_module, modules
from heald.diagnostics import CompileError, Diagnostic, LaunchError
from heald.diagnostics.errors import collect
from heald.diagnostics.spans import outer_frame
from heald.driver import clear_cache, warm_up
from heald.runtime import Device, get_device
from heald.runtime.cuda import taking_turns

_WORKERS = 6
_SWITCH = 1e-4


def init() -> None:
    """Warm the compiler, the builtins and what launches go through, so that the first launches pay
    for their own kernels only."""
    warm_up()


def _calling_module() -> str:
    """The module of the nearest frame that is not Heald's own."""
    frame = outer_frame()
    return str(frame.f_globals.get("__name__", "__main__")) if frame else "__main__"


def set_module_options(options: Mapping[str, Any], module: Any = None) -> None:
    """Settings for the kernels of a module (the calling one by default).

    Raises:
        TypingError: an option that does not exist, or a value that it does not take (H0707).
    """
    get_module(_module_name(module)).options.update(options)


def get_module_options(module: Any = None) -> dict[str, Any]:
    """The settings of a module (the calling one by default)."""
    return dict(get_module(_module_name(module)).options)


def _module_name(module: Any) -> str:
    if module is None:
        return _calling_module()
    if isinstance(module, Module):
        return module.name
    return module if isinstance(module, str) else str(module.__name__)


@at_edge
def load_module(module: Any = None, device: Any = None, recursive: bool = False) -> None:
    """Compile every kernel of a module ahead of its launch; generic ones where types are known.

    One bad kernel does not stop another: the rest is compiled, then all mistakes are reported
    together.

    Args:
        module: a module, its name, or None for the calling one.
        device: for which; the current device by default.
        recursive: also the modules whose names begin with this one's.

    Raises:
        LaunchError: no kernel is defined there.
        CompileError: the mistakes of all kernels that do not compile.
    """
    name = _module_name(module)
    chosen = [
        m for m in modules() if m.name == name or (recursive and m.name.startswith(name + "."))
    ]
    if not any(m.kernels for m in chosen):
        raise LaunchError(Diagnostic("H0707", f"module '{name}' defines no kernels"))
    _prepare([k for m in chosen for k in m.kernels.values()], get_device(device))


@at_edge
def force_load(device: Any = None, modules_: Any = None) -> None:
    """Compile every kernel of every module (or of those given) ahead of its launch, for a device,
    the current one by default.

    Raises:
        CompileError: the mistakes of all kernels that do not compile.
    """
    names = None if modules_ is None else {_module_name(m) for m in modules_}
    chosen = [m for m in modules() if names is None or m.name in names]
    _prepare([k for m in chosen for k in m.kernels.values()], get_device(device))


def _prepare(kernels: Sequence[Kernel], device: Device) -> None:
    """For a GPU on several threads: LLVM and NVIDIA's assembler take most of the time."""

    def prepare(kernel: Kernel) -> tuple[Diagnostic, ...]:
        with ScopedDevice(device):
            try:
                _prepare_one(kernel)
            except CompileError as error:
                return error.diagnostics
        return ()

    def prepare_in_turn(kernel: Kernel) -> tuple[Diagnostic, ...]:
        with taking_turns(turn):
            return prepare(kernel)

    if device.is_cuda and len(kernels) > 1:
        turn = Lock()
        with _quick_switching(), ThreadPoolExecutor(min(_WORKERS, os.cpu_count() or 1)) as pool:
            found = list(pool.map(prepare_in_turn, kernels))
    else:
        found = [prepare(kernel) for kernel in kernels]
    diagnostics = [diagnostic for told in found for diagnostic in told]
    if diagnostics:
        raise collect(diagnostics)


@contextmanager
def _quick_switching() -> Iterator[None]:
    """Let threads that come back from LLVM and the assembler wait less for Python's lock."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _prepare_one(kernel: Kernel) -> None:
    if not kernel.is_generic:
        kernel.prepare()
    for program in kernel.programs():
        program.prepare()


def clear_kernel_cache() -> None:
    """Forget all compiled code, in this process and on disk (what ``config.kernel_cache_dir`` keeps
    for this user); the next launch of each kernel compiles it anew."""
    clear_cache()
    for module in modules():
        for kernel in module.kernels.values():
            kernel.invalidate()
