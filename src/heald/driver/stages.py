"""A program as text at each stage of its way to the machine."""

from __future__ import annotations

from heald.codegen import assembly, entry_symbol, host_target, llvm_text, optimised_text
from heald.driver.choice import Choice
from heald.driver.program import Program
from heald.ir import to_text

STAGES = ("wir", "guarded", "lowered", "widened", "llvm", "optimised", "asm")


def dump(
    program: Program,
    stage: str,
    *,
    bounds: bool = False,
    unit: bool = True,
    apart: bool = True,
    spans: bool = False,
) -> str:
    """The program after a stage.

    Args:
        program: what to show.
        stage: ``wir`` after the front pipeline, ``guarded`` with guards decided, ``lowered`` as the
            code generator takes it for one thread, ``widened`` for as many as a vector holds,
            ``llvm`` as it emits them, ``optimised`` LLVM, ``asm`` assembly.
        bounds: show the variant that runs where the launch condition holds.
        unit: show the variant for arrays that are dense along their last axis.
        apart: show the variant for arrays that do not overlap, where there is one.
        spans: with source places (WIR stages).

    Raises:
        ValueError: there is no such stage.
    """
    choice = Choice(bounds=bounds, unit=unit, apart=apart and "apart" in program.questions)
    match stage:
        case "wir":
            return to_text(program.wir, spans=spans)
        case "guarded":
            return to_text(program.guarded(bounds=bounds), spans=spans)
        case "lowered":
            return to_text(program.lowered(choice), spans=spans)
        case "widened":
            return to_text(program.widened(choice), spans=spans)
        case "llvm" | "optimised" | "asm":
            kernel, wide = program.lowered(choice), program.widened(choice)
            text = llvm_text(kernel, entry=entry_symbol(kernel), target=host_target(), wide=wide)
            if stage == "llvm":
                return text
            return (optimised_text if stage == "optimised" else assembly)(text, host_target())
    raise ValueError(f"no stage {stage!r}; the stages are {', '.join(STAGES)}")
