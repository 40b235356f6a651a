"""The reference interpreter, which defines WIR, in numpy; and host calls of library functions.

Programs that only compile need none of its modules.
"""

from typing import TYPE_CHECKING

from heald.lazy import lazy_names

if TYPE_CHECKING:
    from heald.interp.closure import Closure, compile_closure
    from heald.interp.machine import Outcome, run, run_serial
    from heald.interp.memory import ArrayView
    from heald.interp.resources import Resource

__all__ = [
    "ArrayView",
    "Closure",
    "Outcome",
    "Resource",
    "compile_closure",
    "run",
    "run_serial",
]

__getattr__ = lazy_names(
    __name__,
    {
        "closure": "Closure compile_closure",
        "machine": "Outcome run run_serial",
        "memory": "ArrayView",
        "resources": "Resource",
    },
)
