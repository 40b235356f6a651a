"""Which phases of a program of whole blocks run several threads in one stream of instructions."""

from __future__ import annotations

from collections.abc import Callable

from heald.ir import LOOPS, Attr, Kernel, Op, Value, walk
from heald.ops.threads import LANE_WIDTH
from heald.passes.coalesce import coalesce
from heald.passes.facts import is_guarded
from heald.passes.phase_plan import free_values
from heald.passes.rebuild import Rebuild
from heald.passes.uniformity import analyse_uniformity
from heald.types import Array, i32, i64

_LONG = 32
"""Phases of as many ops, and those with loops, are worth the code."""


def widen_phases(kernel: Kernel, *, vector_bytes: int) -> Kernel:
    """Record on each ``threads`` how many threads are to run side by side, as ``coalesce`` does.

    Before::

        threads () {

    After, where that is allowed and pays::

        threads [width=8, vectors=1] () {

    Only in variants for dense arrays (``attrs["unit"]``), and only phases that are long or loop: a
    block calls a phase many times, and for a few ops the call would cost more than it saves.  A
    phase that may fault after its first effect stays scalar, since later phases want to know which
    threads have; so does one with local arrays that outlive it.

    Args:
        kernel: what ``split_phases`` made.
        vector_bytes: size of a vector register of the target.
    """
    if kernel.attrs.get("unit") is not True:
        return kernel
    found: dict[Op, dict[str, Attr]] = {}
    for op in walk(kernel.body):
        if op.name == "threads" and _is_worth_it(kernel, op):
            phase, _ = phase_kernel(kernel, op)
            wide = coalesce(phase, vector_bytes=vector_bytes)
            if wide.attrs["width"] != 1 and not _faults_late(wide):
                found[op] = {name: wide.attrs[name] for name in ("width", "vectors")}
    if not found:
        return kernel
    rebuild = Rebuild(kernel)

    def visit(op: Op) -> None:
        if op in found:
            rebuild.append(Op(op.name, (), (), found[op], op.regions, op.span))
        else:
            rebuild.copy(op, visit)

    return rebuild.rebuilt(visit)


def _is_worth_it(kernel: Kernel, op: Op) -> bool:
    ops = list(walk(op.regions[0]))
    asked = {"launch_dim", "tid"} if kernel.rank > 1 else {"launch_dim"}
    if any(o.name in asked for o in ops):  # of the whole launch, not of one row
        return False
    if any(_is_local(v) for v in free_values(op.regions)):  # rows of one for the block
        return False
    return len(ops) >= _LONG or any(o.name in LOOPS for o in ops)


def _is_local(value: Value) -> bool:
    return isinstance(value.type, Array) and value.type.space == "local"


def _faults_late(phase: Kernel) -> bool:
    return any(is_guarded(op) for op in analyse_uniformity(phase).later)


def phase_kernel(kernel: Kernel, op: Op) -> tuple[Kernel, tuple[Value, ...]]:
    """A phase as a kernel of its own, launched on all threads in one row; and what it takes.

    Its parameters stand for the values of the block that it takes, in order, and the last one is
    the number of the block's first thread.
    """
    (region,) = op.regions
    taken = tuple(dict.fromkeys(free_values(op.regions)))
    rebuild = Rebuild(Kernel(kernel.name, (), region, names=kernel.names))
    params = []
    for value in taken:
        t = value.type
        params.append(Value(Array(t.dtype, t.ndim) if isinstance(t, Array) else t))
        rebuild.put(value, params[-1])
    params.append(Value(i64))
    rebuild.open()
    (thread,) = rebuild.emit("tid", (), (i64,), axis=0)
    index = rebuild.op("trunc", rebuild.op("isub", thread, params[-1]), type=i32)
    rebuild.visit_all(region.ops[:-1], _placed(rebuild, index))
    rebuild.emit("return")
    names = {**kernel.names, **rebuild.names}
    attrs: dict[str, Attr] = {"unit": True}
    body = rebuild.close()
    return Kernel(kernel.name, tuple(params), body, rank=1, names=names, attrs=attrs), taken


def _placed(rebuild: Rebuild, index: Value) -> Callable[[Op], None]:
    """What becomes of the ops that ask where a thread stands in its block."""

    def visit(op: Op) -> None:
        if op.name == "thread_index":
            rebuild.put(op.result, index)
        elif op.name == "lane":
            mask = rebuild.const(i32, LANE_WIDTH - 1)
            rebuild.put(op.result, rebuild.op("iand", index, mask))
        else:
            rebuild.copy(op, visit)

    return visit
