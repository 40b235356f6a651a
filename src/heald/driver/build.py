"""GPU code of a program, for a file."""

from __future__ import annotations

from dataclasses import dataclass

from heald.codegen import cuda_target, entry_symbol, ptx_text
from heald.driver.choice import Choice
from heald.driver.compiler import widen_for_gpu
from heald.driver.gpu import architecture_of
from heald.driver.program import Program
from heald.runtime.cuda import assemble, discover, resource_report

_DEFAULT = "sm_90"


@dataclass(frozen=True, slots=True)
class Built:
    """Code, and what ptxas says of what it takes (empty where none knows the architecture)."""

    code: bytes
    report: str


def build_for_gpu(
    program: Program, arch: str | None = None, *, cubin: bool = False, verbose: bool = False
) -> Built:
    """PTX with places of the source, or a cubin, of the variant that is right for every launch.

    The report is empty where it is not asked for (``verbose``).

    Raises:
        CompileError: the kernel uses what GPUs do not have.
        DeviceError: no such architecture (H0804), or nothing here makes a cubin (H0810).
    """
    if arch is None:
        gpus = discover().gpus
        arch = architecture_of(gpus[0].device) if gpus else _DEFAULT
    cuda_target(arch)  # refuses what is none, before passes read its number
    kernel = program.lowered_for_gpu(Choice(), arch)
    wide = widen_for_gpu(kernel)
    ptx = ptx_text(kernel, arch, entry=entry_symbol(kernel), wide=wide).encode()
    code = assemble(ptx, arch) if cubin else ptx
    return Built(code, resource_report(ptx, arch) if verbose else "")
