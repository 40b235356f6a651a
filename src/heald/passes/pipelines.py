"""The visible list: which passes run, in which order, and the runner that checks after each of
them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from heald.diagnostics import CompileError, InternalError
from heald.ir import Kernel, check, to_text
from heald.ops import TABLE
from heald.passes.agree_on_control import agree_on_control
from heald.passes.drop_dead import drop_dead
from heald.passes.eliminate_common_subexpressions import eliminate_common_subexpressions
from heald.passes.fold_constants import fold_constants
from heald.passes.forward_copies import forward_copies
from heald.passes.hoist_guards import hoist_guards
from heald.passes.hoist_loop_invariants import hoist_loop_invariants
from heald.passes.normalise_exits import normalise_exits
from heald.passes.prune_carried import prune_carried
from heald.passes.scalarise import scalarise
from heald.passes.split_phases import split_phases
from heald.passes.unroll_loops import unroll_loops
from heald.passes.warp_reduce import warp_reduce

Pass = Callable[[Kernel], Kernel]
Trace = Callable[[str, Kernel], None]

FRONT: tuple[Pass, ...] = (
    forward_copies,
    fold_constants,
    eliminate_common_subexpressions,
    hoist_loop_invariants,
    prune_carried,
    drop_dead,
)
"""After the front end and before proofs.  Then comes ``guard``, which takes their verdicts."""

TIDY: tuple[Pass, ...] = (
    forward_copies,
    fold_constants,
    eliminate_common_subexpressions,
    prune_carried,
    drop_dead,
)
"""After passes that leave something behind; a kernel that is tidy already stays as it is."""

EXPAND: tuple[Pass, ...] = (unroll_loops, scalarise)
SCALAR_CPU: tuple[Pass, ...] = (*EXPAND, *TIDY)
"""After ``guard``: what the scalar code generator takes, structured exits included."""

AHEAD: tuple[Pass, ...] = (hoist_guards,)
"""After those for GPUs; it leaves something behind."""

WARPS: tuple[Pass, ...] = (warp_reduce,)
"""After that, for GPUs whose warps add up numbers (compute capability 8.0)."""

WIDE_CPU: tuple[Pass, ...] = (normalise_exits, *TIDY)
"""After ``SCALAR_CPU`` and before ``coalesce``: what the code generator for vectors takes."""

NORMAL: tuple[Pass, ...] = (*SCALAR_CPU, *WIDE_CPU)
"""After ``guard``: what widening and reverse mode take, with no exit but the last return."""


BLOCKS: tuple[Pass, ...] = (
    *WIDE_CPU,
    agree_on_control,
    fold_constants,
    eliminate_common_subexpressions,
    drop_dead,
)
"""After ``SCALAR_CPU`` where threads of a block meet or share memory, for every device."""


PHASES: tuple[Pass, ...] = (split_phases,)
"""After ``BLOCKS`` on CPUs, where one core runs a block."""


def pass_name(function: Pass) -> str:
    """The name of a pass, also of one with options set by ``functools.partial``."""
    while isinstance(function, partial):
        function = function.func
    return function.__name__


def run_pipeline(
    kernel: Kernel,
    passes: Sequence[Pass],
    *,
    check: bool,
    trace: Trace | None = None,
    stop_after: str | None = None,
) -> Kernel:
    """Run passes in order.

    Args:
        kernel: what to start from.
        passes: the pipeline.
        check: check the structure after every pass (``config.check``).
        trace: called after each pass with its name and the kernel.
        stop_after: the name of the last pass to run, for bisecting.

    Raises:
        InternalError: a pass made a malformed kernel; the message names it and the files that hold
            the kernel before and after it.  Or ``stop_after`` names no pass of the pipeline.
    """
    names = [pass_name(function) for function in passes]
    if stop_after is not None and stop_after not in names:
        raise InternalError(f"no pass {stop_after!r} here; the passes are {', '.join(names)}")
    for function, name in zip(passes, names, strict=True):
        before = kernel
        try:
            kernel = function(before)
        except Exception as error:
            error.add_note(f"in pass {name} on kernel @{before.name}")
            raise
        if check and kernel is not before:
            _recheck(name, before, kernel)
        if trace is not None:
            trace(name, kernel)
        if name == stop_after:
            break
    return kernel


def _recheck(name: str, before: Kernel, after: Kernel) -> None:
    try:
        check(after, TABLE)
    except CompileError as error:
        folder = _write_out(before, after)
        raise InternalError(
            f"pass {name} broke kernel @{before.name}; this is a bug of Heald.  {folder} holds the "
            f"kernel before and after it.\n{error}"
        ) from error


def _write_out(before: Kernel, after: Kernel) -> Path:
    """Write both kernels as text into a new folder."""
    folder = Path(tempfile.mkdtemp(prefix="heald-broken-"))
    for name, kernel in (("before", before), ("after", after)):
        (folder / f"{name}.wir").write_text(to_text(kernel, spans=True), encoding="utf-8")
    return folder
