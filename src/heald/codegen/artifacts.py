"""A compiled kernel as the record that a runtime takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from heald.artifact import Artifact, LaunchCondition, Parameter, PrintFormat, Site, abi
from heald.codegen.access import estimate_work, is_uneven, parameter_access
from heald.codegen.compile import compile_object
from heald.codegen.emit import llvm_text
from heald.codegen.nvptx import gpu_level, gpu_text, lanes_of, ptx_of
from heald.codegen.target import LEVEL, Target
from heald.ir import OBLIGATIONS, Kernel, Op, Value, op_ids, walk
from heald.ops.threads import SYNCHRONISING
from heald.passes.array_roots import Root, array_roots
from heald.passes.facts import launch_rank
from heald.passes.meetings import shares_block
from heald.types import leaf_path, parameter_layout

_PREFIX = "heald_kernel_"


def build(
    kernel: Kernel,
    target: Target,
    *,
    wide: Kernel | None = None,
    blocks: Kernel | None = None,
    condition: LaunchCondition | None = None,
    level: int = LEVEL,
    few: bool = False,
    around: AbstractContextManager[None] | None = None,
) -> Artifact:
    """Compile a kernel that ``guard`` and ``scalarise`` have seen.

    ``wide`` is the same kernel without exits and with the width that ``coalesce`` (``coarsen`` for
    GPUs) gave it.
    ``blocks`` is what ``split_phases`` made of it, for CPUs, where threads of a block meet.
    ``few`` leaves lanes out of code for GPUs.
    ``around`` is entered while LLVM works.
    ``condition`` must hold at a launch for this variant to be right.  The code holds no places of
    the source, so it depends on the content of the kernel only.

    Raises:
        CompileError: the kernel uses what the target does not have.
        InternalError: LLVM refuses the generated code.
    """
    entry = entry_symbol(kernel)
    offsets, size = parameter_layout(p.type for p in kernel.params)
    access = parameter_access(kernel)
    lanes = lanes_of(kernel, wide) if target.name == "cuda" else None
    few, work = few and lanes is not None, _work(kernel, wide)
    if few:
        wide = lanes = None
    return Artifact(
        target=target.name,
        code=_code(kernel, entry, target, wide, blocks, level, around or nullcontext()),
        entry=entry,
        parameters=tuple(
            Parameter(name, p.type, offset, use)
            for name, p, offset, use in zip(
                parameter_names(kernel), kernel.params, offsets, access, strict=True
            )
        ),
        block_size=size,
        rank=launch_rank(kernel),
        condition=condition or LaunchCondition(),
        sites=sites_of(kernel),
        formats=formats_of(kernel),
        work=work,
        lanes=lanes,
        grain=_lanes(wide) if is_uneven(kernel) and not shares_block(kernel) else 0,
        blocks=shares_block(kernel),
        waits=target.can_wait,
        few=few,
    )


def _work(kernel: Kernel, wide: Kernel | None) -> int:
    """Rough instructions a thread; those of a vector are shared by its threads.

    Streams of several vectors take as many instructions for each.
    """
    return max(1, estimate_work(kernel) // min(_lanes(wide), 16))


def _lanes(wide: Kernel | None) -> int:
    """Threads that run side by side."""
    width = 1 if wide is None else wide.attrs.get("width", 1)
    assert isinstance(width, int)
    return width


def _code(
    kernel: Kernel,
    entry: str,
    target: Target,
    wide: Kernel | None,
    blocks: Kernel | None,
    level: int,
    around: AbstractContextManager[None],
) -> bytes:
    """An object for CPUs, PTX for GPUs."""
    if target.name == "cuda":
        text = gpu_text(kernel, entry=entry, target=target, wide=wide, locations=False)
        with around:
            return ptx_of(text, target, gpu_level(kernel, level)).encode()
    text = llvm_text(kernel, entry=entry, target=target, wide=wide, blocks=blocks, locations=False)
    with around:
        return compile_object(text, target, level=level)


def entry_symbol(kernel: Kernel) -> str:
    """The symbol of a kernel's entry, which profilers show."""
    return _PREFIX + re.sub(r"\W", "_", kernel.name, flags=re.ASCII)


def parameter_names(kernel: Kernel) -> tuple[str, ...]:
    """The name of each parameter, or a made-up one."""
    return tuple(kernel.name_of(p) or f"arg{number}" for number, p in enumerate(kernel.params))


def sites_of(kernel: Kernel) -> dict[int, Site]:
    """Where each op that can fault stands and what it works on, by id; the kernel itself, where its
    blocks may want memory."""
    ids = op_ids(kernel)
    roots = array_roots(kernel)
    sites = {abi.NO_OP: Site("kernel", kernel.span)} if shares_block(kernel) else {}
    for op in walk(kernel.body):
        if op.name in OBLIGATIONS or op.name in SYNCHRONISING:
            sites.setdefault(ids[op], Site(op.name, op.span, _subject(kernel, roots, op)))
    return sites


def _subject(kernel: Kernel, roots: Mapping[Value, frozenset[Root]], op: Op) -> str:
    """What an op works on: the name of its array, or the message of an assertion."""
    if op.name == "assert":
        return str(op.attrs["message"])
    if not op.operands:
        return ""
    own = kernel.name_of(op.operands[0])
    found = sorted(roots.get(op.operands[0], ()))
    if own or len(found) != 1:
        return own
    ((parameter, leaf),) = found
    path = leaf_path(kernel.params[parameter].type, leaf)
    return ".".join([parameter_names(kernel)[parameter], *path])


def formats_of(kernel: Kernel) -> dict[int, PrintFormat]:
    """The print statements, by id."""
    ids = op_ids(kernel)
    return {
        ids[op]: PrintFormat(str(op.attrs["text"]), tuple(str(v.type) for v in op.operands))
        for op in walk(kernel.body)
        if op.name == "printf"
    }
