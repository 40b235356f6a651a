"""PTX to machine code: by ``ptxas``, by the driver, or by NVIDIA's linker library."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from heald.diagnostics import DeviceError, Diagnostic, InternalError
from heald.runtime.cuda.devices import Gpu, discover
from heald.runtime.cuda.jit_link import find_jit_link
from heald.runtime.cuda.toolkit import files

_PTX_INPUT = 1
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6
_LOG_SIZE = 1 << 14
_UNKNOWN = ("is not defined for option 'gpu-name'", "Unsupported .version")
"""What ptxas says to an architecture that it dropped, or is too old for."""


def assemble(ptx: bytes, arch: str) -> bytes:
    """A cubin for an architecture, which need not be one of this machine.

    Raises:
        DeviceError: there is no ptxas or nvJitLink that knows the architecture, nor a GPU of it
            (H0810).
        InternalError: the PTX is refused.
    """
    made = _by_ptxas(ptx, arch)
    if made is not None:
        return made[0]
    for gpu in discover().gpus:
        if arch.startswith("sm_{}{}".format(*gpu.capability)):
            return assemble_on(gpu, ptx)
    library = find_jit_link()
    cubin = None if library is None else library.assemble(ptx, arch)
    if cubin is not None:
        return cubin
    raise DeviceError(
        Diagnostic(
            "H0810",
            f"there is nothing here that makes machine code for {arch}",
            hint="install a ptxas or nvJitLink that knows it (CUDA toolkit, or pip install "
            "nvidia-nvjitlink), or write .ptx",
        )
    )


def resource_report(ptx: bytes, arch: str) -> str:
    """What ptxas says of registers, stack and memory; empty where none knows the architecture."""
    made = _by_ptxas(ptx, arch)
    return "" if made is None else made[1]


def find_ptxas() -> str | None:
    """The path of ptxas, or None."""
    found = files("bin/ptxas", of_packages="bin/ptxas")
    usable = (str(path) for path in found if os.access(path, os.X_OK))
    return shutil.which("ptxas") or next(usable, None)


def _by_ptxas(ptx: bytes, arch: str) -> tuple[bytes, str] | None:
    """A cubin and what is said of it; None where no ptxas here knows the architecture."""
    import subprocess

    program = find_ptxas()
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="heald-ptxas-") as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_bytes(ptx)
        done = subprocess.run(
            [program, f"-arch={arch}", "-v", "-lineinfo", str(source), "-o", str(target)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and any(said in done.stderr for said in _UNKNOWN):
            return None
        if done.returncode:
            raise InternalError(f"ptxas refuses generated code: {done.stderr}\n{ptx.decode()}")
        return target.read_bytes(), done.stderr


_DRIVER = Lock()
"""Held by the one thread for which the driver makes code; it serves no second one meanwhile."""


class _Turns(threading.local):
    """The lock that this thread holds while it is not waiting for code to be made."""

    turn: Lock | None = None


_TURNS = _Turns()


@contextmanager
def taking_turns(turn: Lock) -> Iterator[None]:
    """Hold a lock inside a ``with``, but while code is made or loaded for this thread.

    Threads that compile then do not fight for Python's own lock, which costs them more than they
    gain.
    """
    with turn:
        _TURNS.turn = turn
        try:
            yield
        finally:
            _TURNS.turn = None


@contextmanager
def passing_turn() -> Iterator[None]:
    """Let others go on inside a ``with``, where this thread takes turns with them."""
    turn = _TURNS.turn
    if turn is None:
        yield
        return
    turn.release()
    try:
        yield
    finally:
        turn.acquire()


def assemble_on(gpu: Gpu, ptx: bytes, arch: str = "") -> bytes:
    """A cubin for a GPU of this machine.

    Its driver makes it.  Where threads take turns, or it is busy for another one, NVIDIA's linker
    library does if it is installed and the architecture is given: the driver makes code for one
    thread at a time, and loads none meanwhile.

    Raises:
        InternalError: the PTX is refused.
    """
    is_shared = _TURNS.turn is not None
    with passing_turn():
        if is_shared or not _DRIVER.acquire(blocking=False):
            library = find_jit_link(gpu.driver.version) if arch else None
            cubin = None if library is None else library.assemble(ptx, arch)
            if cubin is not None:
                return cubin
            _DRIVER.acquire()
        try:
            return _by_driver(gpu, ptx)
        finally:
            _DRIVER.release()


def _by_driver(gpu: Gpu, ptx: bytes) -> bytes:
    log = ctypes.create_string_buffer(_LOG_SIZE)
    options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_SIZE)
    state, cubin, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    text = ctypes.create_string_buffer(ptx)
    with gpu.active() as call:
        call("cuLinkCreate_v2", ctypes.c_uint(2), options, values, ctypes.byref(state))
        try:
            given = (text, ctypes.c_size_t(len(text)), b"kernel.ptx")
            nothing = (ctypes.c_uint(0), None, None)
            call("cuLinkAddData_v2", state, ctypes.c_int(_PTX_INPUT), *given, *nothing)
            call("cuLinkComplete", state, ctypes.byref(cubin), ctypes.byref(size))
            assert cubin.value is not None
            return ctypes.string_at(cubin.value, size.value)
        except DeviceError as error:
            if not log.value:
                raise
            said = log.value.decode(errors="replace")
            raise InternalError(
                f"the CUDA driver refuses generated code: {said}\n{ptx.decode()}"
            ) from error
        finally:
            call.attempt("cuLinkDestroy", state)
