"""Variants of programs for CUDA devices, and their launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from heald.artifact import Artifact, LaunchCondition
from heald.codegen import build, cuda_architecture, cuda_target
from heald.diagnostics import Diagnostic, LaunchError
from heald.driver.arguments import Argument, ArrayArgument
from heald.driver.variants import widen_for_gpu
from heald.ir import Kernel
from heald.runtime import Device, LaunchOutcome, packer_of
from heald.runtime.cuda import CudaCode, assemble_on, driver_version, gpu_of, launch_cuda, load_cuda
from heald.types import align_of


@dataclass(frozen=True, slots=True)
class GpuVariant:
    """Code of one variant, loaded on one GPU."""

    artifact: Artifact
    code: CudaCode


def target_name(device: Device) -> str:
    """What of a GPU its code depends on."""
    return f"{architecture_of(device)} driver {driver_version()}"


def architecture_of(device: Device) -> str:
    """The architecture that code for a GPU is made for.

    Raises:
        DeviceError: it is too old (H0804).
    """
    return cuda_architecture(*gpu_of(device).capability)


def compile_for_gpu(lowered: Kernel, condition: LaunchCondition, device: Device) -> Artifact:
    """Machine code of a lowered kernel for launches on a GPU that fulfil ``condition``.

    Raises:
        CompileError: the kernel uses what GPUs do not have.
        DeviceError: the GPU is too old.
    """
    target = cuda_target(architecture_of(device))
    artifact = build(lowered, target, wide=widen_for_gpu(lowered), condition=condition)
    return replace(artifact, code=assemble_on(gpu_of(device), artifact.code))


def load_on_gpu(artifact: Artifact, device: Device) -> GpuVariant:
    """Put code where it runs."""
    return GpuVariant(artifact, load_cuda(device, artifact))


def run_on_gpu(
    variant: GpuVariant,
    device: Device,
    dims: Sequence[int],
    arguments: Sequence[Argument],
    block_dim: int,
) -> LaunchOutcome:
    """Launch and wait.

    Raises:
        LaunchError: an array does not lie as GPUs need it (H0711), or too many blocks (H0706).
        DeviceError: the driver reports an error.
    """
    for argument, parameter in zip(arguments, variant.artifact.parameters, strict=True):
        _check_alignment(argument, parameter.name)
    words = [word for argument in arguments for word in argument.words()]
    packed = packer_of(variant.artifact).pack(words)
    return launch_cuda(device, variant.code, variant.artifact, packed, dims, block_dim)


def _check_alignment(argument: Argument, name: str) -> None:
    """GPUs access elements whole, so each must lie at a multiple of its alignment."""
    for leaf in argument.leaves:
        if not isinstance(leaf, ArrayArgument) or 0 in leaf.shape:
            continue
        align = align_of(leaf.dtype)
        steps = (s for n, s in zip(leaf.shape, leaf.strides, strict=True) if n > 1)
        if any(number % align for number in (leaf.ptr, *steps)):
            raise LaunchError(
                Diagnostic(
                    "H0711",
                    f"argument '{name}': elements at multiples of {align} bytes are needed on a "
                    f"GPU; the array is at {leaf.ptr:#x} with strides {leaf.strides}",
                    hint="pass a copy, a.clone()",
                )
            )
