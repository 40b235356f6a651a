"""The reference interpreter, which defines WIR, in numpy; and host calls of library functions."""

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
