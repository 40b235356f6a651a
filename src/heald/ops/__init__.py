"""The closed set of value ops: one record each, in one file.

Every module of this folder is imported, so a new file needs no other edit.
"""

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
from heald.ops.effects import (
    CLAIMS,
    MAX_WIDTH,
    PROMISES,
    conversions_of,
    misprint,
    role_of,
)
from heald.ops.lowering import lower_op

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "CLAIMS",
    "MAX_WIDTH",
    "PROMISES",
    "TABLE",
    "Emit",
    "Handled",
    "NoAdjoint",
    "OpDef",
    "Smt",
    "conversions_of",
    "define",
    "encoded_as",
    "lower_op",
    "misprint",
    "role_of",
]
