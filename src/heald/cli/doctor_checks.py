"""What ``heald doctor`` looks at: versions, processor, threads, cache, settings, GPUs.

A check gives one or more records and never raises for what it finds; what it asks of the machine is
asked once, here.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import heald
from heald.codegen.openmp import find_provider
from heald.codegen.target import cuda_architecture, host_target, llvm_version
from heald.config import SETTING_VARIABLES, config
from heald.diagnostics import DeviceError, HealdError
from heald.driver.cache_store import open_store, store_contents
from heald.runtime.cuda.assembler import find_ptxas
from heald.runtime.cuda.devices import Gpu, discover, driver_version
from heald.runtime.cuda.jit_link import find_jit_link
from heald.runtime.workers import core_count

_NEEDED = ("numpy", "llvmlite", "z3-solver", "pillow", "rich", "typer")
_OLDEST_PYTHON = (3, 11)
_FEATURES = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl")
_NVIDIA = "0x10de"
_PCI = Path("/sys/bus/pci/devices")
_DRIVER = Path("/proc/driver/nvidia/version")
_FEW_BYTES = 1 << 28
_FULL = 0.9


class State(Enum):
    """How well something is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"

    @property
    def rank(self) -> int:
        """From best to worst."""
        return list(State).index(self)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report.

    Attributes:
        name: what was looked at.
        state: how it is.
        value: what was found, in a few words.
        remedy: what to do, where it is not well.
        details: the same for programs.
    """

    name: str
    state: State
    value: str
    remedy: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def _ok(name: str, value: str, /, **details: Any) -> Check:
    return Check(name, State.OK, value, "", details)


def _warn(name: str, value: str, remedy: str, /, **details: Any) -> Check:
    return Check(name, State.WARN, value, remedy, details)


def _fail(name: str, value: str, remedy: str, /, **details: Any) -> Check:
    return Check(name, State.FAIL, value, remedy, details)


def run_checks() -> list[Check]:
    """Every check, in the order of the report."""
    found: list[Check] = []
    for name, check in _CHECKS.items():
        try:
            found += check()
        except (HealdError, OSError, ImportError, AttributeError, ValueError) as error:
            first = str(error).partition("\n")[0] or type(error).__name__
            found.append(_fail(name, first, "please report this: a check of `heald doctor` failed"))
    return found


# -- software --------------------------------------------------------------------------------------


def _versions() -> Iterator[Check]:
    folder = str(Path(heald.__file__).parent)
    yield _ok("heald", f"{heald.__version__}, {folder}", version=heald.__version__, folder=folder)
    version = platform.python_version()
    implementation = platform.python_implementation()
    value = f"{version}, {implementation}, {sys.executable}"
    details = {"version": version, "implementation": implementation}
    if sys.version_info < _OLDEST_PYTHON:
        yield _fail("Python", value, "install Python 3.11 or newer", **details)
    else:
        yield _ok("Python", value, **details)
    system = f"{platform.system()} {platform.machine()}"
    if system == "Linux x86_64":
        yield _ok("system", f"{system}, {platform.platform()}")
    else:
        yield _warn("system", system, "only Linux on x86-64 is tested; the rest may work")


def _packages() -> Iterator[Check]:
    for name in _NEEDED:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield _fail(name, "not installed", f"pip install {name}")
        else:
            yield _ok(name, version, version=version)


# -- processor -------------------------------------------------------------------------------------


def _processor() -> Iterator[Check]:
    try:
        target = host_target()
    except DeviceError as error:
        (diagnostic,) = error.diagnostics
        remedy = diagnostic.hint or "run on an x86-64 processor with AVX2 and FMA"
        yield _fail("processor", diagnostic.message, remedy)
        return
    features = [f for f in _FEATURES if f"+{f}" in target.features.split(",")]
    slow = "fma" not in features
    bits = target.vector_bytes * 8
    value = f"{target.cpu}, {' '.join(features)}, vectors of {bits} bits"
    details = {"cpu": target.cpu, "features": features, "vector_bits": bits}
    if slow:
        yield _warn("processor", value, "fma is computed by software here: slow", **details)
    else:
        yield _ok("processor", value, **details)
    yield _ok("compiler", llvm_version())


def _threads() -> Iterator[Check]:
    cores, asked = core_count(), config.num_threads
    used = min(cores, asked) if asked else cores
    value = f"{used} of {os.cpu_count() or used}"
    details: dict[str, Any] = {"used": used, "allowed": cores, "present": os.cpu_count()}
    if asked > cores:
        remedy = f"this process may use {cores}: lower HEALD_NUM_THREADS, or its affinity"
        yield _warn("cores", f"{value}, {asked} asked for", remedy, **details)
    else:
        yield _ok("cores", value, **details)
    provider = find_provider()
    if provider is None:
        yield _warn(
            "OpenMP",
            "no runtime found: Python threads share out launches, more slowly",
            "install libomp or libgomp (Debian: apt install libgomp1)",
        )
        return
    forks = "" if provider.survives_fork else ", one core in forked children"
    details = {"path": provider.path, "survives_fork": provider.survives_fork}
    yield _ok("OpenMP", f"{provider.path}{forks}", **details)


def _kernel() -> Iterator[Check]:
    yield _run_on("cpu", "kernel")


def _run_on(device: str, name: str) -> Check:
    """The whole way once, on a device and in the interpreter."""
    saxpy = importlib.import_module("heald.cli.demos.saxpy").SAXPY
    results = []
    for place in (device, "sim"):
        program = saxpy.make(1000, place)
        program.step()
        results.append(program.state()["y"].tobytes())
    if results[0] == results[1]:
        return _ok(name, "compiles, runs, and has the bits of the interpreter")
    return _fail(name, "runs with other bits than in the interpreter", "please report this")


# -- settings and cache ----------------------------------------------------------------------------


def _settings() -> Iterator[Check]:
    given = {n: v for n, v in sorted(os.environ.items()) if n.startswith("HEALD_")}
    unknown = [n for n in given if n not in SETTING_VARIABLES]
    known = [f"{n}={v}" for n, v in given.items() if n in SETTING_VARIABLES]
    value = ", ".join(known) or "no HEALD_ variable is set"
    if unknown:
        remedy = f"the variables are {', '.join(sorted(SETTING_VARIABLES))}"
        yield _warn("settings", f"unknown: {', '.join(unknown)}", remedy, variables=given)
    else:
        yield _ok("settings", value, variables=given)
    if config.safety == "unchecked":
        remedy = "unset HEALD_SAFETY, so that an access out of bounds is an error"
        yield _warn("safety", "array accesses are not guarded", remedy)


def _cache() -> Iterator[Check]:
    if not config.kernel_cache_dir or config.kernel_cache_size <= 0:
        yield _warn(
            "cache",
            "off: every process compiles every kernel",
            "unset HEALD_CACHE_DIR and HEALD_CACHE_SIZE",
        )
        return
    root = Path(config.kernel_cache_dir).expanduser()
    store = open_store()
    if store is None:
        yield _warn(
            "cache",
            f"{root} is not used: what stands there is no folder, or others may change it",
            "remove it, or name another folder in HEALD_CACHE_DIR",
            folder=str(root),
        )
        return
    folder = Path(store.folder)
    count, size = store_contents(store)
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    details = {"folder": store.folder, "entries": count, "bytes": size, "limit": store.limit}
    value = f"{folder}: {count} entries, {_bytes(size)} of {_bytes(store.limit)}"
    if not _is_writable(existing):
        remedy = "name a folder that you may write to in HEALD_CACHE_DIR"
        yield _warn("cache", f"{folder} cannot be written", remedy, **details)
    elif shutil.disk_usage(existing).free < _FEW_BYTES:
        yield _warn("cache", f"{value}; the disk is nearly full", "free some space", **details)
    elif size > store.limit * _FULL:
        remedy = "set HEALD_CACHE_SIZE to more bytes if kernels are compiled again and again"
        yield _warn("cache", value, remedy, **details)
    else:
        yield _ok("cache", value, **details)


def _is_writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _bytes(count: int) -> str:
    amount, units = float(count), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.0f} {units[0]}" if units[0] == "bytes" else f"{amount:.1f} {units[0]}"


# -- GPUs ------------------------------------------------------------------------------------------


def _gpus() -> Iterator[Check]:
    found = discover()
    present = nvidia_cards()
    if found.problem is not None:
        (diagnostic,) = found.problem.diagnostics
        notes = "; ".join(note.text for note in diagnostic.notes)
        what = f"{diagnostic.message}; {notes}" if notes else diagnostic.message
        if diagnostic.code == "H0806" and not present:
            yield _ok("GPU", f"none ({what}): kernels run on the CPU, with the same bits")
        else:
            yield _fail("GPU", what, _gpu_remedy(diagnostic.code, present), cards=present)
        return
    version = driver_version()
    release = driver_release()
    value = f"CUDA {version // 1000}.{version % 1000 // 10}"
    value = f"{release}, {value}" if release else value
    yield _ok("GPU driver", value, cuda=version, release=release)
    for gpu in found.gpus:
        check = _gpu(gpu)
        yield check
        if check.state is State.OK:
            yield _run_on(str(gpu.device), f"{gpu.device} kernel")
    yield from _assemblers(version)


def _gpu(gpu: Gpu) -> Check:
    major, minor = gpu.capability
    value = (
        f"{gpu.device.name}, compute capability {major}.{minor}, {_bytes(gpu.memory)}, "
        f"{gpu.processors} multiprocessors"
    )
    details = {
        "name": gpu.device.name,
        "capability": [major, minor],
        "memory": gpu.memory,
        "processors": gpu.processors,
    }
    name = str(gpu.device.alias)
    try:
        arch = cuda_architecture(major, minor)
    except DeviceError as error:
        (diagnostic,) = error.diagnostics
        return _warn(name, value, f"{diagnostic.message}; {diagnostic.hint}", **details)
    return _ok(name, f"{value}, code for {arch}", **details, arch=arch)


def _gpu_remedy(code: str, present: int) -> str:
    match code:
        case "H0806" if present:
            return "install NVIDIA's driver, 545 or newer; in a container, pass the GPU into it"
        case "H0807":
            return "update NVIDIA's driver to 545 or newer"
        case _:
            return "see what `nvidia-smi` says; a driver that was just updated needs a reboot"


def _assemblers(version: int) -> Iterator[Check]:
    ptxas = find_ptxas()
    without = "not found: reports of registers need it, and a .cubin where there is no nvJitLink"
    yield _ok("ptxas", ptxas or without, path=ptxas)
    linker = find_jit_link(version)
    if linker is None:
        yield _ok(
            "nvJitLink",
            "not found: the driver does its work, one kernel after the other (`pip install "
            "nvidia-nvjitlink` makes first launches faster)",
        )
    else:
        number = "{}.{}".format(*linker.version)
        yield _ok("nvJitLink", number, version=number)


def nvidia_cards() -> int:
    """How many NVIDIA display or compute cards the machine has, whatever its driver says."""
    count = 0
    for device in _PCI.glob("*"):
        try:
            vendor = (device / "vendor").read_text(encoding="ascii").strip()
            kind = (device / "class").read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        count += vendor == _NVIDIA and kind.startswith("0x03")
    return count


def driver_release() -> str:
    """The release of NVIDIA's driver, such as ``580.65.06``; empty where it is not told."""
    try:
        text = _DRIVER.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)", text)
    return found[1] if found else ""


_CHECKS: dict[str, Callable[[], Iterator[Check]]] = {
    "versions": _versions,
    "packages": _packages,
    "processor": _processor,
    "cores": _threads,
    "settings": _settings,
    "cache": _cache,
    "kernel": _kernel,
    "GPU": _gpus,
}
