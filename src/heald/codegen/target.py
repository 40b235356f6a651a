"""What code is generated for.  The one place that knows processors."""

from __future__ import annotations

import importlib
import platform
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from heald.codegen.binding import LOCK, binding, initialise_nvptx
from heald.config import config
from heald.diagnostics import DeviceError, Diagnostic

# x86-64-v3 as LLVM spells its parts, as far as compiled kernels profit from them.
_NEEDED = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")

_WIDE = ("avx512f", "avx512bw", "avx512dq", "avx512vl")

LEVEL = 2
"""LLVM's optimisation level unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Target:
    """A processor: what enters the code key and what LLVM needs to know.

    Attributes:
        name: ``cpu`` or ``cuda``, as in ``Artifact.target``.
        triple: LLVM's target triple.
        cpu: LLVM's name of the processor.
        features: LLVM's feature string, ``+avx2,-sse4a,...``.
        data_layout: LLVM's data layout string.
    """

    name: str
    triple: str
    cpu: str
    features: str
    data_layout: str

    @property
    def vector_bytes(self) -> int:
        """The size of the vectors that kernels are widened to.

        64 bytes where they were measured to be faster: processors of other makers lower their clock
        for them, or have never been tried.
        """
        wide = all(f"+{name}" in self.features.split(",") for name in _WIDE)
        return 64 if wide and self.cpu.startswith("znver") else 32

    @property
    def can_wait(self) -> bool:
        """Can threads of a grid wait for the grid before it (``griddepcontrol``)?"""
        found = re.match(r"sm_(\d+)", self.cpu)
        return self.name == "cuda" and found is not None and int(found[1]) >= 90

    @property
    def header(self) -> str:
        """The lines that every module begins with."""
        return f'target triple = "{self.triple}"\ntarget datalayout = "{self.data_layout}"\n'


def host_target() -> Target:
    """The processor of this machine.

    Raises:
        DeviceError: it is not an x86-64 with AVX2 and FMA; ``config.allow_slow_fma`` accepts one
            without.
    """
    target, missing = _detect()
    if missing and not config.allow_slow_fma:
        raise DeviceError(
            Diagnostic(
                "H0804",
                f"this processor lacks {', '.join(missing)}",
                hint="HEALD_ALLOW_SLOW_FMA=1 runs kernels with software fma: the same bits, slowly",
            )
        )
    return target


@cache
def llvm_version() -> str:
    """The compiler that :func:`host_target` is for: code of another one is not used."""
    llvm = binding()
    numbers = ".".join(map(str, llvm.llvm_version_info))
    return f"LLVM {numbers}, llvmlite {importlib.import_module('llvmlite').__version__}"


@cache
def _detect() -> tuple[Target, tuple[str, ...]]:
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise DeviceError(
            Diagnostic("H0804", f"kernels cannot be compiled for {platform.machine()}")
        )
    with LOCK:
        return _detect_x86(binding())


def _detect_x86(llvm: Any) -> tuple[Target, tuple[str, ...]]:
    triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
    features = llvm.get_host_cpu_features()
    missing = tuple(name for name in _NEEDED if not features.get(name))
    flat = features.flatten()
    bare = Target("cpu", triple, cpu, flat, "")
    layout = str(create_machine(bare).target_data)
    return replace(bare, data_layout=layout), missing


_PTX_OF = {
    **dict.fromkeys(("sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89"), 83),
    **dict.fromkeys(("sm_90", "sm_90a"), 83),
    **dict.fromkeys(("sm_100", "sm_100a", "sm_120", "sm_120a"), 87),
}
"""The PTX version for each architecture: that of CUDA 12.3, or the first that knows it."""


def cuda_target(arch: str) -> Target:
    """An NVIDIA GPU, such as ``sm_90``.

    Raises:
        DeviceError: there is no code for that architecture (H0804).
    """
    if arch not in _PTX_OF:
        raise DeviceError(
            Diagnostic(
                "H0804",
                f"kernels cannot be compiled for {arch!r}",
                hint=f"the GPU architectures are {', '.join(_PTX_OF)}",
            )
        )
    return _cuda_target(arch)


@cache
def _cuda_target(arch: str) -> Target:
    with LOCK:
        initialise_nvptx()
        bare = Target("cuda", "nvptx64-nvidia-cuda", arch, f"+ptx{_PTX_OF[arch]}", "")
        return replace(bare, data_layout=str(create_machine(bare).target_data))


def cuda_architecture(major: int, minor: int) -> str:
    """The newest architecture whose code runs on a GPU of a compute capability.

    Raises:
        DeviceError: the GPU is too old (H0804).
    """
    known = [(int(name[3:-1]), int(name[-1])) for name in _PTX_OF if name[-1] != "a"]
    fitting = [version for version in known if version <= (major, minor)]
    if not fitting:
        raise DeviceError(
            Diagnostic(
                "H0804",
                f"a GPU of compute capability {major}.{minor} is too old: kernels need 7.0, in "
                "which the threads of a warp make progress independently",
                hint="use device='cpu', which gives the same bits",
            )
        )
    first, second = max(fitting)
    return f"sm_{first}{second}"


def create_machine(target: Target, level: int = LEVEL) -> Any:
    """LLVM's code generator for a target.

    Code for CPUs reaches its constants relative to where it runs: with addresses of 64 bits each
    constant takes a register and an instruction more.  Functions of other objects are called by the
    stubs that the loader makes.
    """
    llvm = binding()
    if target.name == "cuda":
        return llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=level
        )
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=False,
    )
