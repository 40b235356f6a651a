"""Compiles the ``lower`` hooks: one loop function for each case and width."""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from unit.ops.cases import Bits, Case, arguments, to_bits
from unit.ops.reference import encode, finite

from heald.ops import TABLE, lower_op
from heald.types import Scalar, b1, bf16

_LLVM_FLOATS = {"f16": "half", "f32": "float", "f64": "double"}


@dataclass
class Text:
    """The ``Emit`` protocol, writing instructions into a list."""

    width: int
    lines: list[str] = field(default_factory=list)

    def ins(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def element(self, t: Scalar) -> str:
        return "i16" if t is bf16 else _LLVM_FLOATS.get(t.name, f"i{t.bits}")

    def type(self, t: Scalar) -> str:
        return self.element(t) if self.width == 1 else f"<{self.width} x {self.element(t)}>"

    def suffix(self, t: Scalar) -> str:
        short = t.name if t.is_float and t is not bf16 else f"i{t.bits}"
        return short if self.width == 1 else f"v{self.width}{short}"

    def splat(self, t: Scalar, value: bool | int | float) -> str:
        if t is bf16:
            text = str(encode(bf16, finite(int(value))))
        elif t.is_float:
            text = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        else:
            text = str(bool(value)).lower() if t is b1 else str(int(value))
        return text if self.width == 1 else f"splat ({self.element(t)} {text})"

    def divide(self, how: str, t: Scalar, lhs: str, rhs: str) -> str:
        return self.ins(f"{how} {self.type(t)} {lhs}, {rhs}")

    def approximate(self, instruction: str, value: str, *operands: str) -> str:
        return value


def function_name(case: Case, width: int) -> str:
    return re.sub(r"\W", "_", f"{case}-{width}")


_ALONE = ("define void", "%first = add i64 0, 0", "%step = add i64 0, {width}")
_IN_GRID = (
    "define ptx_kernel void",
    """%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %before = mul i32 %block, %size
  %own = add i32 %before, %thread
  %all = mul i32 %size, %blocks
  %own.wide = zext i32 %own to i64
  %all.wide = zext i32 %all to i64
  %first = mul i64 %own.wide, {width}""",
    "%step = mul i64 %all.wide, {width}",
)


def loop_function(case: Case, width: int, gpu: bool = False) -> str:
    """A function of one pointer per operand, one for the result, and a count of elements.

    b1 is one byte in memory.  The count is a multiple of the width.  On a GPU the threads of a grid
    share the elements, and accesses are aligned as arrays are: LLVM splits an unaligned store of a
    float into bytes of a register that ptxas then takes for a number and converts (seen with driver
    580 on an H200).
    """
    text = Text(width)

    def alignment(t: Scalar) -> int:
        return max(1, t.bits // 8) if gpu else 1

    def memory_type(t: Scalar) -> str:
        stored = "i8" if t is b1 else text.element(t)
        return stored if width == 1 else f"<{width} x {stored}>"

    def address(t: Scalar, name: str) -> str:
        return text.ins(f"getelementptr {'i8' if t is b1 else text.element(t)}, ptr {name}, i64 %i")

    names = []
    for k, t in enumerate(case.sources):
        place = address(t, f"%a{k}")
        value = text.ins(f"load {memory_type(t)}, ptr {place}, align {alignment(t)}")
        if t is b1:
            value = text.ins(f"trunc {memory_type(t)} {value} to {text.type(b1)}")
        names.append(value)
    t = case.target
    result = lower_op(TABLE[case.op.name], text, case.op, *names)
    if t is b1:
        result = text.ins(f"zext {text.type(b1)} {result} to {memory_type(t)}")
    place = address(t, "%out")
    text.lines.append(f"  store {memory_type(t)} {result}, ptr {place}, align {alignment(t)}")
    define, first, step = (part.format(width=width) for part in (_IN_GRID if gpu else _ALONE))
    pointers = "".join(f"ptr %a{k}, " for k in range(len(case.sources)))
    body = "\n".join(text.lines)
    return f"""{define} @{function_name(case, width)}({pointers}ptr %out, i64 %n) {{
entry:
  {first}
  {step}
  %some = icmp slt i64 %first, %n
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ %first, %entry ], [ %next, %loop ]
{body}
  %next = add i64 %i, %step
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


# -- compiling -------------------------------------------------------------------------------------


@functools.cache
def target_machine(cpu: str) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten() if cpu == "host" else ""
    name = llvm.get_host_cpu_name() if cpu == "host" else cpu
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=2, jit=True)


def object_code(cases: Iterable[Case], cpu: str, optimise: bool, widths: tuple[int, ...]) -> bytes:
    """Object bytes with a function for each case and width."""
    machine = target_machine(cpu)
    module = llvm.parse_assembly("\n".join(loop_function(c, w) for c in cases for w in widths))
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    if optimise:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


@functools.cache
def ptx_machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    return target.create_target_machine(cpu="sm_90", features="+ptx83", opt=2)


def ptx_code(cases: Iterable[Case], widths: tuple[int, ...]) -> str:
    """PTX with a kernel for each case and width."""
    machine = ptx_machine()
    text = "\n".join(loop_function(c, w, gpu=True) for c in cases for w in widths)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    ptx: str = machine.emit_assembly(module)
    return ptx


_loaded: list[Any] = []  # code lives as long as these do


def load(
    code: bytes, cases: Iterable[Case], widths: tuple[int, ...]
) -> dict[tuple[Case, int], int]:
    """Addresses of the functions in an object."""
    jit = llvm.create_lljit_compiler(target_machine("host"))
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    names = {(c, w): function_name(c, w) for c in cases for w in widths}
    for name in names.values():
        library = library.export_symbol(name)
    tracker = library.link(jit, "ops")
    _loaded.append((jit, tracker))
    return {key: tracker[name] for key, name in names.items()}


def call(address: int, case: Case, columns: list[Bits]) -> Bits:
    """Run a loop function over columns of operands whose length is a multiple of the width."""
    arrays = [np.ascontiguousarray(a) for a in arguments(case, columns)]
    out = np.zeros(len(columns[0]), case.target.carrier)
    pointers = [a.ctypes.data for a in (*arrays, out)]
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_int64)
    signature(address)(*pointers, len(out))
    return to_bits(case.target, out)


def undefined_symbols(code: bytes) -> set[str]:
    """Names that an ELF object wants from elsewhere (ELF-64 Object File Format, version 1.5)."""
    assert code[:5] == b"\x7fELF\x02"
    (headers,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, headers + size * k) for k in range(count)]
    found = set()
    for _, kind, _, _, offset, length, link, _, _, step in sections:
        if kind != 2:  # the symbol table
            continue
        strings = sections[link][4]
        for at in range(offset + step, offset + length, step):
            name, _, _, section = struct.unpack_from("<IBBH", code, at)
            if section == 0:
                start = strings + name
                found.add(code[start : code.index(b"\0", start)].decode())
    return found
