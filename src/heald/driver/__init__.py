"""Wires the compiler together: source to artifact, variants, launches on CPU and interpreter."""

from typing import TYPE_CHECKING

from heald.lazy import lazy_names

if TYPE_CHECKING:
    from heald.driver.analysed import Analysed
    from heald.driver.arguments import (
        Argument,
        ArrayArgument,
        LeafValue,
        is_pinned,
        look_up,
        needs_wide_index,
    )
    from heald.driver.build import build_for_gpu
    from heald.driver.cache import clear_cache
    from heald.driver.cache_captures import describe_overloads
    from heald.driver.entries import (
        Entry,
        HostClasses,
        Pack,
        entry_of,
        fixed_replay_of,
        replay_of,
    )
    from heald.driver.files import write_whole
    from heald.driver.gpu import misaligned
    from heald.driver.hints import hint_at_dim, launch_hints
    from heald.driver.program import Program
    from heald.driver.specialise import (
        compile_call,
        compile_program,
        resolve,
        result_types,
        warm_up,
    )
    from heald.driver.stages import STAGES, dump
    from heald.driver.tracing import report_changes

__all__ = [
    "STAGES",
    "Analysed",
    "Argument",
    "ArrayArgument",
    "Entry",
    "HostClasses",
    "LeafValue",
    "Pack",
    "Program",
    "build_for_gpu",
    "clear_cache",
    "compile_call",
    "compile_program",
    "describe_overloads",
    "dump",
    "entry_of",
    "fixed_replay_of",
    "hint_at_dim",
    "is_pinned",
    "launch_hints",
    "look_up",
    "misaligned",
    "needs_wide_index",
    "replay_of",
    "report_changes",
    "resolve",
    "result_types",
    "warm_up",
    "write_whole",
]

__getattr__ = lazy_names(
    __name__,
    {
        "analysed": "Analysed",
        "arguments": "Argument ArrayArgument LeafValue is_pinned look_up needs_wide_index",
        "build": "build_for_gpu",
        "cache": "clear_cache",
        "cache_captures": "describe_overloads",
        "stages": "STAGES dump",
        "entries": "Entry HostClasses Pack entry_of fixed_replay_of replay_of",
        "files": "write_whole",
        "gpu": "misaligned",
        "hints": "hint_at_dim launch_hints",
        "program": "Program",
        "specialise": "compile_call compile_program resolve result_types warm_up",
        "tracing": "report_changes",
    },
)
