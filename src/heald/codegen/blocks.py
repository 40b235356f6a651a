"""Programs of whole blocks on CPUs: a function for the block, and one for each of its phases.

The body of the range function runs a block.  It calls the function of a phase, which loops over the
threads of the block as a range function does over those of a launch.  Arrays over the block and
shared arrays are on the stack of the body, or where they are large in memory that is allocated for
all blocks of a range.  On the stack are the flags of threads that have faulted and the
counts of what each has printed; the body's own flag says that some thread has faulted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heald.artifact import abi
from heald.codegen import faults, printing, ranges
from heald.codegen.aliases import Aliases
from heald.codegen.body import BLOCK_DIM, FAULTED, HEADER, PRINTED, THREAD, Body, parameter_leaves
from heald.codegen.control import Targets, emit_region
from heald.codegen.locations import Locations, Places
from heald.codegen.memory import ALIGNMENT, SCRATCH
from heald.codegen.spelling import component_types
from heald.codegen.threads import FIRST, coordinate, launch_extent
from heald.codegen.wide_phases import WidePhase, is_computed
from heald.codegen.writer import Writer, phi
from heald.ir import Kernel, Op, Value
from heald.passes.facts import launch_rank
from heald.passes.phase_plan import free_values

_FLAGS, _COUNTS, _ANY = "%faulted.of", "%printed.of", "%faulted.any"
_GIVEN = "%given"
"""What the process gave for ``SCRATCH``."""
_ALLOCATION = ["declare ptr @malloc(i64)", "declare void @free(ptr)"]
_STOP, _TOTAL = "%stop", "%total"
"""One past the last thread of the block, and of the launch."""


def functions(kernel: Kernel, module: Locations | None, aliases: Aliases) -> tuple[Body, list[str]]:
    """The range function, the body that runs a block, and its phases.

    ``kernel`` is what ``split_phases`` made.
    """
    places = None if module is None else Places(module, range_=ranges.RANGE, body=ranges.BODY)
    body = Body(kernel, places, aliases=aliases)
    phases = _Phases(body, module)
    body.run_phase = phases.emit
    used = parameter_leaves(kernel)
    of_range, of_body, of_call = (
        ("", "", "") if places is None else (places.of_range(), places.of_body(), places.of_call())
    )
    arguments = ranges.body_arguments(0, used)
    lines = _block_lines(body)
    w = Writer()
    w.start("entry")
    w.branch(w.ins("icmp slt i64 %lo, %hi"), "unpack", "exit")
    w.start("unpack")
    ranges.unpack(w, kernel, used)
    declared = []
    if body.scratch_bytes:
        declared, arguments = [*_ALLOCATION], f"{arguments}, ptr {SCRATCH}"
        declared += [] if body.checked else [faults.DECLARATION]
        _take_scratch(w, body.scratch_bytes)
    _run_blocks(w, f"call void @{ranges.BODY}({arguments}){of_call}")
    w.start("done")
    if body.scratch_bytes:
        w.do(f"call void @free(ptr {_GIVEN})")
    w.do("br label %exit")
    w.start("exit")
    w.do("ret void")
    return body, [
        *declared,
        *phases.lines,
        f"define internal void @{ranges.RANGE}({ranges.ARGUMENTS}) #2{of_range} {{",
        *w.lines,
        "}",
        f"define internal void @{ranges.BODY}({arguments}) #2{of_body} {{",
        *lines,
        "}",
    ]


def _take_scratch(w: Writer, total: int) -> None:
    """Memory for the arrays of one block after the other; a fault where there is none."""
    room = total + ALIGNMENT
    w.lines.append(f"  {_GIVEN} = call ptr @malloc(i64 {room})")
    w.branch(w.ins(f"icmp ne ptr {_GIVEN}, null"), "take", "none", likely=True)
    w.start("none")
    faults.record_lack(w, room)
    w.do("br label %exit")
    w.start("take")
    above = w.ins(f"getelementptr i8, ptr {_GIVEN}, i64 {ALIGNMENT - 1}")
    aligned = f"call ptr @llvm.ptrmask.p0.i64(ptr {above}, i64 -{ALIGNMENT})"
    w.lines.append(f"  {SCRATCH} = {aligned}")


def _run_blocks(w: Writer, call: str) -> None:
    """The blocks whose first thread lies in the range, so each is run once."""
    size = w.ins(f"zext i32 {BLOCK_DIM} to i64")
    above = w.ins(f"add i64 %lo, {w.ins(f'sub i64 {size}, 1')}")
    first = w.ins(f"mul i64 {w.ins(f'udiv i64 {above}, {size}')}, {size}")
    before = w.block
    w.branch(w.ins(f"icmp slt i64 {first}, %hi"), "block.run", "done")
    w.start("block.run")
    w.lines.append(f"  {THREAD} = {phi('i64', [(before, first), ('block.run', '%next')])}")
    w.lines.append(f"  {call}")
    w.lines.append(f"  %next = add i64 {THREAD}, {size}")
    w.branch(w.ins("icmp slt i64 %next, %hi"), "block.run", "done")


def _block_lines(body: Body) -> list[str]:
    """The instructions of the function that runs a block."""
    w = body.writer
    w.start("begin")
    size = w.ins(f"zext i32 {BLOCK_DIM} to i64")
    total = launch_extent(0)
    for axis in range(1, ranges.DIMS):
        total = w.ins(f"mul i64 {total}, {launch_extent(axis)}")
    end = w.ins(f"add i64 {THREAD}, {size}")
    w.lines.append(f"  {_TOTAL} = add i64 {total}, 0")
    w.lines.append(f"  {_STOP} = call i64 @llvm.smin.i64(i64 {end}, i64 {_TOTAL})")
    finish = w.join("finish")
    emit_region(body, body.kernel.body, Targets(finish))
    w.place = "" if body.locations is None else body.locations.at(body.kernel.span)
    w.land(finish)
    w.do("ret void")
    head = list(body.allocas)
    if body.checked:
        head += [*faults.flag_allocas(), *_table(_FLAGS, 1)]
    if body.prints:
        head += _table(_COUNTS, 8)
    return ["entry:", *(f"  {line}" for line in head), "  br label %begin", *w.lines]


def _table(name: str, size: int) -> list[str]:
    """A zeroed number of ``size`` bytes for each thread of the block."""
    total = size * abi.MAX_BLOCK_DIM
    return [
        f"{name} = alloca [{total} x i8], align 64",
        f"call void @llvm.memset.p0.i64(ptr {name}, i8 0, i64 {total}, i1 false)",
    ]


@dataclass(slots=True)
class _Phases:
    """Writes a function for each phase, and calls it."""

    body: Body
    module: Locations | None
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def emit(self, op: Op) -> None:
        """Run a phase for every thread of the block."""
        outer, (region,) = self.body, op.regions
        kernel = Kernel(outer.kernel.name, (), region, attrs=outer.kernel.attrs)
        stem = f"heald_phase{self.count}"
        self.count += 1
        places = None
        if self.module is not None:
            places = Places(self.module, range_=stem, body=f"{stem}_body")
        inner = Body(kernel, places, aliases=outer.aliases, roots=outer.roots_of_arrays())
        taken = self._take_over(inner, list(dict.fromkeys(free_values(op.regions))))
        rank = launch_rank(kernel)
        shared = [f"ptr {HEADER}", f"i32 {BLOCK_DIM}"]
        extents = [f"i64 {launch_extent(k)}" for k in range(ranges.DIMS)]
        own = [f"i64 {THREAD}", *(f"i64 {coordinate(k)}" for k in range(rank))]
        tables = [f"ptr {_FLAGS}", f"ptr {_ANY}"] if inner.checked else []
        tables += [f"ptr {_COUNTS}"] if inner.prints else []
        common = [*shared, *extents, *tables, *(f"{t} {name}" for t, name, _ in taken)]
        lines = _phase_lines(inner)
        of_range, of_body, of_call = ("", "", "")
        if places is not None:
            of_range, of_body, of_call = places.of_range(), places.of_body(), places.of_call()
        per_thread = ", ".join([f"i64 {FIRST}", *own, *common])
        bounds = [f"i64 {name}" for name in (FIRST, "%lo", "%hi")]
        call = f"call void @{stem}_body({per_thread}){of_call}"
        self.lines += [
            f"define internal void @{stem}({', '.join([*bounds, *common])}) #2{of_range} {{",
            *_phase_loop(rank, call),
            "}",
            f"define internal void @{stem}_body({per_thread}) #0{of_body} {{",
            *lines,
            "}",
        ]
        given = [*shared, *extents, *(t.replace(_ANY, FAULTED) for t in tables)]
        given += [f"{t} {known}" for t, _, known in taken]
        given = [*(f"i64 {name}" for name in (THREAD, THREAD, _STOP)), *given]
        scalar = f"call void @{stem}({', '.join(given)})"
        wide = WidePhase.of(outer.kernel, op, [_pointer(t) for t in tables], f".{stem}")
        if wide is None:
            outer.writer.do(scalar)
        else:
            self.lines += wide.functions(outer, stem)
            self._choose(wide, scalar, checked=inner.checked)

    def _choose(self, wide: WidePhase, scalar: str, *, checked: bool) -> None:
        """Several threads at once, unless one of the block has faulted before."""
        outer = self.body
        w = outer.writer
        if not checked:
            wide.call(outer, THREAD, _STOP, _TOTAL)
            return
        several, single, end = w.label("several"), w.label("single"), w.label("ran")
        w.branch(w.ins(f"xor i1 {faults.has_faulted(outer)}, true"), several, single, likely=True)
        w.start(several)
        wide.call(outer, THREAD, _STOP, _TOTAL)
        w.do(f"br label %{end}")
        w.start(single)
        w.do(scalar)
        w.do(f"br label %{end}")
        w.start(end)

    def _take_over(self, inner: Body, values: Sequence[Value]) -> list[tuple[str, str, str]]:
        """Give a phase the values of the block; the arguments as (type, name inside, name here)."""
        outer = self.body
        taken: list[tuple[str, str, str]] = []
        for value in values:
            names = []
            for t, known in zip(component_types(value.type), outer.names[value], strict=True):
                name = known
                if is_computed(known):
                    name = f"%a{len(taken)}"
                    taken.append((t, name, known))
                names.append(name)
            inner.names[value] = tuple(names)
            if value in outer.constants:
                inner.constants[value] = outer.constants[value]
        return taken


def _pointer(table: str) -> str:
    """A table of the block, as the function that runs it calls it."""
    name = table.removeprefix("ptr ")
    return FAULTED if name == _ANY else name


def _phase_loop(rank: int, call: str) -> list[str]:
    """The loop over the threads of a block."""
    w = Writer()
    w.start("entry")
    w.branch(w.ins("icmp slt i64 %lo, %hi"), "unpack", "exit")
    w.start("unpack")
    if rank == 0:
        ranges.run_flat(w, rank, call)
    else:
        ranges.run_segments(w, rank, call)
    w.start("exit")
    w.do("ret void")
    return w.lines


def _phase_lines(body: Body) -> list[str]:
    """The instructions of one thread's phase."""
    w = body.writer
    w.start("begin")
    index = w.ins(f"sub i64 {THREAD}, {FIRST}")
    body.index = w.ins(f"trunc i64 {index} to i32")
    flag = count = ""
    if body.checked:
        flag = w.ins(f"getelementptr i8, ptr {_FLAGS}, i64 {index}")
        _recall_fault(body, flag)
    if body.prints:
        count = w.ins(f"getelementptr i64, ptr {_COUNTS}, i64 {index}")
        w.do(f"store i64 {w.ins(f'load i64, ptr {count}, align 8')}, ptr {PRINTED}")
    emit_region(body, body.kernel.body, Targets(w.join("finish")))
    w.place = "" if body.locations is None else body.locations.at(body.kernel.span)
    if body.checked:
        _note_fault(body, flag)
    if body.prints:
        w.do(f"store i64 {w.ins(f'load i64, ptr {PRINTED}')}, ptr {count}, align 8")
    w.do("ret void")
    head = list(body.allocas)
    if body.checked:
        head += faults.flag_allocas()
    if body.prints:
        head += printing.counter_allocas()
    return ["entry:", *(f"  {line}" for line in head), "  br label %begin", *w.lines]


def _recall_fault(body: Body, flag: str) -> None:
    """A thread that has faulted in an earlier phase has done so; mostly none of the block has."""
    w = body.writer
    look, go = w.label("recall"), w.label("go")
    w.do(f"store i1 false, ptr {FAULTED}")
    w.branch(w.ins(f"xor i1 {w.ins(f'load i1, ptr {_ANY}')}, true"), go, look, likely=True)
    w.start(look)
    known = w.ins(f"load i8, ptr {flag}, align 1")
    w.do(f"store i1 {w.ins(f'trunc i8 {known} to i1')}, ptr {FAULTED}")
    w.do(f"br label %{go}")
    w.start(go)


def _note_fault(body: Body, flag: str) -> None:
    """At the end of a phase: later ones know of a fault."""
    w = body.writer
    note, go = w.label("note"), w.label("go")
    w.branch(w.ins(f"xor i1 {faults.has_faulted(body)}, true"), go, note, likely=True)
    w.start(note)
    w.do(f"store i8 1, ptr {flag}, align 1")
    w.do(f"store i1 true, ptr {_ANY}")
    w.do(f"br label %{go}")
    w.start(go)
