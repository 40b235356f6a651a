"""LLVM text to machine code, by LLVM's new pass manager.

LLVM's loop vectoriser, SLP vectoriser and unroller are off: widening is our own, and they are what
compiling costs.  What our passes leave is simplified function by function by LLVM's own list of
passes for that: half the time of the pipeline for whole modules, and the code is as long and as
fast.  At level 1 a shorter list does it, without those for loops (docs/adr/0013).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from heald.codegen.binding import LOCK, binding
from heald.codegen.target import LEVEL, Target, create_machine
from heald.codegen.writer import UNROLL
from heald.diagnostics import InternalError

_UNROLLED = (f"{UNROLL}.count", f"{UNROLL}.full")
"""What loops say that LLVM is to unroll; others ask ptxas not to."""


def compile_object(text: str, target: Target, *, level: int = LEVEL) -> bytes:
    """The bytes of a relocatable object.

    Raises:
        InternalError: LLVM refuses the text.
    """
    with LOCK:
        module, machine = _optimise(text, target, level)
        code: bytes = machine.emit_object(module)
        return code


_SHORT = """\
define <16 x float> @short(<16 x float> %x) {
  %y = fmul <16 x float> %x, %x
  ret <16 x float> %y
}
"""


def prepare_compiler(target: Target) -> None:
    """Compile a function for a target: LLVM makes its passes and tables when it first does."""
    compile_object(target.header + _SHORT, target)


ObjectCache = Callable[[str, Target, int], bytes]
"""Gives what :func:`compile_object` makes of text, target and level, perhaps made earlier."""


class _Helpers:
    """Who keeps the objects that are the same in every process."""

    cache: ObjectCache | None = None


_HELPERS = _Helpers()


def set_object_cache(cache: ObjectCache) -> None:
    """Install what keeps the objects of :func:`compile_helper`."""
    _HELPERS.cache = cache


def compile_helper(text: str, target: Target, *, level: int = LEVEL) -> bytes:
    """An object that does not depend on any kernel, such as the code that starts threads.

    Raises:
        InternalError: LLVM refuses the text.
    """
    if _HELPERS.cache is None:
        return compile_object(text, target, level=level)
    return _HELPERS.cache(text, target, level)


def assembly(text: str, target: Target, *, level: int = LEVEL) -> str:
    """The machine code as assembly text.

    Raises:
        InternalError: LLVM refuses the text.
    """
    with LOCK:
        module, machine = _optimise(text, target, level)
        listing: str = machine.emit_assembly(module)
        return listing


def optimised_text(text: str, target: Target, *, level: int = LEVEL) -> str:
    """The module as LLVM text after optimisation.

    Raises:
        InternalError: LLVM refuses the text.
    """
    with LOCK:
        module, _ = _optimise(text, target, level)
        return str(module)


def _optimise(text: str, target: Target, level: int) -> tuple[Any, Any]:
    llvm = binding()
    machine = create_machine(target, level)
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses generated code: {error}\n{text}") from error
    _simplifier(target).run(module, level, unroll=any(note in text for note in _UNROLLED))
    return module, machine


class _Simplifier:
    """LLVM's passes, made once for all modules: llvmlite frees neither a pass manager nor what its
    runs leave in a pass builder, about 80 KiB a module."""

    def __init__(self, target: Target) -> None:
        llvm = binding()
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = False
        options.slp_vectorization = False
        options.loop_unrolling = False
        options.loop_interleaving = False
        self._machine = create_machine(target, 1)
        self._builder = llvm.create_pass_builder(self._machine, options)
        self._inline = llvm.create_new_module_pass_manager()
        self._inline.add_always_inliner_pass()
        self._inline.add_global_dead_code_eliminate_pass()
        self._simplify = self._builder.getFunctionPassManager()
        self._straight = llvm.create_new_function_pass_manager()
        self._straight.add_sroa_pass()
        self._straight.add_simplify_cfg_pass()
        self._straight.add_instruction_combine_pass()
        self._straight.add_reassociate_pass()
        self._straight.add_sccp_pass()
        self._straight.add_simplify_cfg_pass()
        self._straight.add_instruction_combine_pass()
        self._straight.add_aggressive_dce_pass()
        self._unroll = llvm.create_new_function_pass_manager()
        self._unroll.add_loop_rotate_pass()
        self._unroll.add_loop_simplify_pass()
        self._unroll.add_lcssa_pass()
        self._unroll.add_loop_unroll_pass()
        self._unroll.add_instruction_combine_pass()
        self._unroll.add_simplify_cfg_pass()

    def run(self, module: Any, level: int, *, unroll: bool) -> None:
        """Inline what must be, and simplify each function unless ``level`` is 0.

        ``unroll`` says that loops ask to be unrolled.
        """
        self._inline.run(module, self._builder)
        simplify = self._straight if level == 1 else self._simplify
        for function in module.functions if level else ():
            if not function.is_declaration and not _is_left_alone(function):
                simplify.run(function, self._builder)
                if unroll:
                    self._unroll.run(function, self._builder)


def _is_left_alone(function: Any) -> bool:
    """Is it not worth LLVM's passes?  They would leave it alone too, and say so on stderr."""
    return any(b"optnone" in group for group in function.attributes)


@cache
def _simplifier(target: Target) -> _Simplifier:
    return _Simplifier(target)
