"""The closed set of value ops.  Every module of this folder is imported; each op is one record in one file."""

import importlib
import pkgutil

from heald.ops.definition import (
    TABLE,
    Emit,
    Handled,
    NoAdjoint,
    OpDef,
    Smt,
    define,
    encoded_as,
)
from heald.ops.lowering import lower_op

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "TABLE",
    "Emit",
    "Handled",
    "NoAdjoint",
    "OpDef",
    "Smt",
    "define",
    "encoded_as",
    "lower_op",
]
