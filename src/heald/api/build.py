"""``wp.build``: kernels as files of GPU code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from heald.api.edge import at_edge
from heald.api.kernel import Kernel
from heald.api.scalars import describe
from heald.diagnostics import Diagnostic, LaunchError
from heald.driver import build_for_gpu, write_whole

_KINDS = (".ptx", ".cubin")


@at_edge
def build(
    kernel: Kernel,
    path: str | os.PathLike[str],
    *,
    arch: str | None = None,
    types: Sequence[object] | None = None,
    verbose: bool = False,
) -> None:
    """Write the GPU code of a kernel to a file; no GPU is needed.

    The code is the variant that is right for every launch, with all guards that are not proved.
    Its one parameter is the launch header and the arguments behind it (``heald.artifact.abi``).

    Args:
        kernel: made by ``@wp.kernel``.
        path: ``out.ptx`` or ``out.cubin``; written whole or not at all.
        arch: such as ``sm_90``; by default that of the first GPU here, else ``sm_90``.
        types: parameter types of a generic kernel that has not just one instance.
        verbose: print what ptxas says of registers and stack.

    Raises:
        CompileError: the kernel does not compile, or uses what GPUs do not have.
        DeviceError: no such architecture (H0804), or nothing here makes a cubin (H0810).
        LaunchError: neither .ptx nor .cubin, or no kernel (H0707).
        OSError: the file cannot be written.
    """
    if not isinstance(kernel, Kernel):
        message = f"wp.build takes a kernel, not {describe(kernel)}"
        raise LaunchError(Diagnostic("H0707", message))
    target = Path(path)
    if target.suffix not in _KINDS:
        message = f"wp.build writes {' or '.join(_KINDS)} files, not '{target.name}'"
        raise LaunchError(Diagnostic("H0707", message))
    program = kernel.program(kernel.concrete_types(types))
    built = build_for_gpu(program, arch, cubin=target.suffix == ".cubin", verbose=verbose)
    write_whole(target, built.code)
    if verbose:
        unknown = "no ptxas here makes code for it, so nothing is known of registers\n"
        print(built.report or unknown, end="")  # noqa: T201
