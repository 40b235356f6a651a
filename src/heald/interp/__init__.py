"""The reference interpreter, which defines WIR, in numpy; and host calls of library functions.

Its modules are loaded when one of these names is first asked for: programs that only compile need
none of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

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
_PLACES = {
    "closure": "Closure compile_closure",
    "machine": "Outcome run run_serial",
    "memory": "ArrayView",
    "resources": "Resource",
}
_MODULE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'heald.interp' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"heald.interp.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
