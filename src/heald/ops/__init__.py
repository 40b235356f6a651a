"""The closed set of value ops.  Every module of this folder is imported; each op is one record in one file."""

import importlib
import pkgutil

from heald.ops.definition import TABLE, Emit, NoAdjoint, OpDef, Smt, define

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["TABLE", "Emit", "NoAdjoint", "OpDef", "Smt", "define"]
