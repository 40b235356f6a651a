"""The steps of a compilation.  What comes from the disk needs none of its modules."""

from typing import TYPE_CHECKING

from heald.lazy import lazy_names

if TYPE_CHECKING:
    from heald.driver.compiler.front import (
        Front,
        content_of,
        front_of,
        packed,
        run_front,
        structured,
        unpacked,
        verdicts_of,
    )
    from heald.driver.compiler.variants import (
        assume,
        compile_variant,
        guarded,
        lower_for_cpu,
        lower_for_gpu,
        widen,
        widen_for_gpu,
    )

__all__ = [
    "Front",
    "assume",
    "compile_variant",
    "content_of",
    "front_of",
    "guarded",
    "lower_for_cpu",
    "lower_for_gpu",
    "packed",
    "run_front",
    "structured",
    "unpacked",
    "verdicts_of",
    "widen",
    "widen_for_gpu",
]

__getattr__ = lazy_names(
    __name__,
    {
        "front": "Front content_of front_of packed run_front structured unpacked verdicts_of",
        "variants": "assume compile_variant guarded lower_for_cpu lower_for_gpu widen "
        "widen_for_gpu",
    },
)
