"""Phases that run several threads at once: the code of a widened kernel, launched by its block.

The block leaves what the phase takes in a block of parameters, as a launch does, and beside it a
header of a launch in one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from heald.artifact import abi
from heald.codegen import ranges
from heald.codegen.aliases import Aliases
from heald.codegen.body import BLOCK_DIM, HEADER, Body, ParameterLeaf, parameter_leaves
from heald.codegen.spelling import component_types, memory_type
from heald.codegen.threads import launch_extent
from heald.codegen.wide import emit as wide_emit
from heald.codegen.wide.ranges import CAREFUL, CAREFUL_BODY, WIDE_BODY, WIDE_RANGE
from heald.codegen.writer import Writer
from heald.diagnostics import InternalError
from heald.ir import Kernel, Op, Value
from heald.passes.widen_phases import phase_kernel
from heald.types import Scalar, b1, i64, parameter_layout

_NAMES = (WIDE_RANGE, WIDE_BODY, CAREFUL_BODY, CAREFUL, ranges.RANGE)


@dataclass(frozen=True, slots=True)
class WidePhase:
    """A phase as a widened kernel.

    Attributes:
        kernel: its parameters are what it takes, then the first thread of the block.
        taken: the values of the block that it takes.
        tables: pointers that its scalar form takes besides.
        suffix: of the names of its functions.
    """

    kernel: Kernel
    taken: tuple[Value, ...]
    tables: tuple[str, ...]
    suffix: str

    @classmethod
    def of(cls, kernel: Kernel, op: Op, tables: Sequence[str], suffix: str) -> WidePhase | None:
        """The wide form of a phase on which ``widen_phases`` has recorded a width."""
        if op.attrs.get("width", 1) == 1:
            return None
        phase, taken = phase_kernel(kernel, op)
        wide = replace(phase, attrs={**phase.attrs, **op.attrs})
        return cls(wide, taken, tuple(tables), suffix)

    # -- functions ---------------------------------------------------------------------------------

    def functions(self, outer: Body, stem: str) -> list[str]:
        """Its wide functions, and the one through which they run threads one by one: ``stem``.

        That one takes of each value of the block the components that are not constants there.
        """
        records, lines = wide_emit.functions(self.kernel, None, Aliases(self.kernel))
        if records:
            raise InternalError("a phase that records faults of several threads")
        text = "\n".join([*lines, *self._scalar(outer, stem)])
        for name in _NAMES:
            text = text.replace(f"@{name}(", f"@{name}{self.suffix}(")
        return text.split("\n")

    def _scalar(self, outer: Body, stem: str) -> list[str]:
        w = Writer()
        w.start("entry")
        used = parameter_leaves(self.kernel)
        ranges.unpack(w, self.kernel, used)
        known = {leaf.parameter: leaf for leaf in used}
        first = ParameterLeaf(len(self.taken), 0, i64).names[0]
        given = [f"i64 {first}", "i64 %lo", "i64 %hi", f"ptr {HEADER}", f"i32 {BLOCK_DIM}"]
        given += [f"i64 {launch_extent(axis)}" for axis in range(ranges.DIMS)]
        _, size = parameter_layout(p.type for p in self.kernel.params)
        for n in range(len(self.tables)):
            place = w.ins(f"getelementptr i8, ptr %args, i64 {size + 8 * n}")
            given.append(f"ptr {w.ins(f'load ptr, ptr {place}, align 8')}")
        for n, value in enumerate(self.taken):
            each = zip(component_types(value.type), known[n].names, outer.names[value], strict=True)
            given += [f"{t} {name}" for t, name, there in each if is_computed(there)]
        w.do(f"call void @{stem}({', '.join(given)})")
        w.do("ret void")
        return [f"define internal void @{ranges.RANGE}({ranges.ARGUMENTS}) #2 {{", *w.lines, "}"]

    # -- the call ----------------------------------------------------------------------------------

    def call(self, outer: Body, first: str, stop: str, total: str) -> None:
        """Run the phase for the threads of the block."""
        w = outer.writer
        offsets, size = parameter_layout(p.type for p in self.kernel.params)
        args, header = w.reserve(), w.reserve()
        outer.allocas.append(f"{args} = alloca [{size + 8 * len(self.tables)} x i8], align 16")
        outer.allocas.append(f"{header} = alloca [{abi.HEADER_SIZE} x i8], align 16")
        w.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {header}, ptr {HEADER}, "
            f"i64 {abi.HEADER_SIZE}, i1 false)"
        )
        for axis in range(ranges.DIMS):
            place = abi.HEADER_DIM + 8 * axis
            _put(w, header, place, "i64", "1" if axis else total)
        for value, offset in zip(self.taken, offsets, strict=False):
            self._pass(outer, value, args, offset)
        _put(w, args, offsets[-1], "i64", first)
        for n, table in enumerate(self.tables):
            _put(w, args, size + 8 * n, "ptr", table)
        name = f"{WIDE_RANGE}{self.suffix}"
        w.do(f"call void @{name}(ptr {header}, ptr {args}, i64 {first}, i64 {stop})")

    @staticmethod
    def _pass(outer: Body, value: Value, args: str, offset: int) -> None:
        w, names, given = outer.writer, outer.names[value], value.type
        if isinstance(given, Scalar):
            (name,) = names
            byte = w.ins(f"zext i1 {name} to i8") if given is b1 else name
            _put(w, args, offset, memory_type(given), byte)
            return
        kinds = component_types(given)
        for n, (t, name) in enumerate(zip(kinds, names, strict=True)):
            _put(w, args, offset + 8 * n, t, name)


def is_computed(name: str) -> bool:
    """Is this the name of a value, and no constant?"""
    return name.startswith("%")


def _put(w: Writer, base: str, offset: int, t: str, name: str) -> None:
    place = w.ins(f"getelementptr i8, ptr {base}, i64 {offset}")
    w.do(f"store {t} {name}, ptr {place}, align 1")
