"""Variants of programs for CUDA devices, and their launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import heald.codegen as codegen
import heald.driver.compiler as compiler
from heald.artifact import Artifact, Fault, LaunchCondition, PrintFormat, Site, fault_error
from heald.codegen import cuda_architecture, cuda_target
from heald.diagnostics import Diagnostic, KernelFault, LaunchError
from heald.driver.arguments import Argument, ArrayArgument, thread_coordinates
from heald.driver.prints import print_records
from heald.runtime import Device, PrintOutput, is_aligned, packer_of
from heald.runtime.cuda import (
    CudaCode,
    Stream,
    assemble_on,
    driver_version,
    gpu_of,
    launch_cuda,
    load_cuda,
    passing_turn,
    register,
)
from heald.types import align_of

if TYPE_CHECKING:
    from heald.ir import Kernel


@dataclass(frozen=True, slots=True)
class GpuVariant:
    """Code of one variant, loaded on one GPU.

    Attributes:
        artifact: the code.
        code: loaded.
        source: number under which the runtime knows whose faults and prints they are.
    """

    artifact: Artifact
    code: CudaCode
    source: int


@dataclass(frozen=True, slots=True)
class Told:
    """What faults and prints of a variant mean, as long as its launches may be heard of."""

    name: str
    sites: Mapping[int, Site]
    formats: Mapping[int, PrintFormat]

    def error(self, fault: Fault, dims: Sequence[int]) -> KernelFault:
        """The exception for a fault of a launch."""
        return error_of(fault, self.sites, dims, self.name)

    def show(self, printed: PrintOutput) -> None:
        """Write what a launch printed."""
        print_records(printed.records, self.formats, printed.note)


def error_of(
    fault: Fault, sites: Mapping[int, Site], dims: Sequence[int], name: str
) -> KernelFault:
    """The exception for a fault of a launch of the kernel ``name``."""
    thread = thread_coordinates(fault.thread, dims)
    where = thread[0] if len(thread) == 1 else thread
    return fault_error(fault, sites[fault.op], f"thread {where} of kernel '{name}'")


def target_name(device: Device) -> str:
    """What of a GPU its code depends on."""
    return f"{architecture_of(device)} driver {driver_version()}"


def architecture_of(device: Device) -> str:
    """The architecture that code for a GPU is made for.

    Raises:
        DeviceError: it is too old (H0804).
    """
    return cuda_architecture(*gpu_of(device).capability)


def compile_for_gpu(
    lowered: Kernel, condition: LaunchCondition, device: Device, *, few: bool = False
) -> Artifact:
    """Machine code of a lowered kernel for launches on a GPU that fulfil ``condition``.

    With ``few`` for those that do not fill it: without lanes the code is made in two thirds of the
    time.

    Raises:
        CompileError: the kernel uses what GPUs do not have.
        DeviceError: the GPU is too old.
    """
    arch = architecture_of(device)
    wide = compiler.widen_for_gpu(lowered)
    target, turn = cuda_target(arch), passing_turn()
    artifact = codegen.build(lowered, target, wide=wide, condition=condition, few=few, around=turn)
    return replace(artifact, code=assemble_on(gpu_of(device), artifact.code, arch))


def load_on_gpu(name: str, artifact: Artifact, device: Device) -> GpuVariant:
    """Put code where it runs; ``name`` is what errors call the kernel."""
    told = Told(name, artifact.sites, artifact.formats)
    with passing_turn():  # the driver loads nothing while it makes code for another thread
        code = load_cuda(device, artifact)
    return GpuVariant(artifact, code, register(told))


def run_on_gpu(
    variant: GpuVariant,
    stream: Stream,
    dims: Sequence[int],
    arguments: Sequence[Argument],
    block_dim: int,
) -> None:
    """Give a launch to a stream.

    Raises:
        LaunchError: an array does not lie as GPUs need it (H0711), or too many blocks (H0706).
        KernelFault: an earlier launch has failed.
        DeviceError: the driver reports an error.
    """
    for argument, parameter in zip(arguments, variant.artifact.parameters, strict=True):
        _check_alignment(argument, parameter.name)
    words = [word for argument in arguments for word in argument.words()]
    packed = packer_of(variant.artifact).pack(words)
    artifact, kept = variant.artifact, (variant, tuple(arguments))
    launch_cuda(stream, variant.code, artifact, variant.source, packed, dims, block_dim, kept)


def misaligned(argument: Argument) -> ArrayArgument | None:
    """An array whose elements do not lie at multiples of their alignment, as GPUs, which access
    them whole, need it."""
    for leaf in argument.leaves:
        if isinstance(leaf, ArrayArgument) and not is_aligned(
            leaf.dtype, leaf.ptr, leaf.shape, leaf.strides
        ):
            return leaf
    return None


def _check_alignment(argument: Argument, name: str) -> None:
    leaf = misaligned(argument)
    if leaf is not None:
        raise LaunchError(
            Diagnostic(
                "H0711",
                f"argument '{name}': elements at multiples of {align_of(leaf.dtype)} bytes are "
                f"needed on a GPU; the array is at {leaf.ptr:#x} with strides {leaf.strides}",
                hint="pass a copy, a.clone()",
            )
        )
