"""Back end: WIR to LLVM text, to machine code, to an address; and the threads that run it."""

from typing import TYPE_CHECKING

from heald.lazy import lazy_names

if TYPE_CHECKING:
    from heald.codegen.artifacts import (
        build,
        entry_symbol,
        formats_of,
        parameter_names,
        sites_of,
    )
    from heald.codegen.compile import assembly, compile_object, optimised_text, prepare_compiler
    from heald.codegen.emit import llvm_text
    from heald.codegen.entry import Report, has_entries, make_entry
    from heald.codegen.entry_code import Enter
    from heald.codegen.entry_layout import slot_offset
    from heald.codegen.entry_table import (
        ArrayClass,
        ArrayTake,
        BytesTake,
        CpuCode,
        EntryTable,
        GpuCode,
        NumberTake,
        Take,
        ValueTake,
        takes_number,
    )
    from heald.codegen.link import LoadedCode, load
    from heald.codegen.nvptx import ptx_text
    from heald.codegen.openmp import parallel_launcher
    from heald.codegen.target import (
        Target,
        cuda_architecture,
        cuda_target,
        host_target,
        llvm_version,
    )

__all__ = [
    "ArrayClass",
    "ArrayTake",
    "BytesTake",
    "CpuCode",
    "Enter",
    "EntryTable",
    "GpuCode",
    "LoadedCode",
    "NumberTake",
    "Report",
    "Take",
    "Target",
    "ValueTake",
    "assembly",
    "build",
    "compile_object",
    "cuda_architecture",
    "cuda_target",
    "entry_symbol",
    "formats_of",
    "has_entries",
    "host_target",
    "llvm_text",
    "llvm_version",
    "load",
    "make_entry",
    "optimised_text",
    "parallel_launcher",
    "parameter_names",
    "prepare_compiler",
    "ptx_text",
    "sites_of",
    "slot_offset",
    "takes_number",
]

__getattr__ = lazy_names(
    __name__,
    {
        "artifacts": "build entry_symbol formats_of parameter_names sites_of",
        "compile": "assembly compile_object optimised_text prepare_compiler",
        "emit": "llvm_text",
        "entry": "Report has_entries make_entry",
        "entry_code": "Enter",
        "entry_layout": "slot_offset",
        "entry_table": "ArrayClass ArrayTake BytesTake CpuCode EntryTable GpuCode NumberTake Take "
        "ValueTake takes_number",
        "link": "LoadedCode load",
        "nvptx": "ptx_text",
        "openmp": "parallel_launcher",
        "target": "Target cuda_architecture cuda_target host_target llvm_version",
    },
)
