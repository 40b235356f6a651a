"""Python source to WIR: names, types, overloads, inlining, SSA, contraction.  See
``docs/language.md``."""

from typing import TYPE_CHECKING

from heald.lazy import lazy_names

if TYPE_CHECKING:
    from heald.frontend.dependencies import (
        is_library_name,
        outline_of,
        results_of,
        signature_of,
    )
    from heald.frontend.lower import lower_call, lower_kernel
    from heald.frontend.machine import intrinsic
    from heald.frontend.options import Options, Resolver
    from heald.frontend.parameters import (
        parameter_contracts,
        parameter_patterns,
        parameter_places,
    )
    from heald.frontend.sources import (
        Reading,
        captured_value,
        own_signature,
        read_source,
        reading,
        remember,
    )
    from heald.frontend.tables import captured_tables, table_type

__all__ = [
    "Options",
    "Reading",
    "Resolver",
    "captured_tables",
    "captured_value",
    "intrinsic",
    "is_library_name",
    "lower_call",
    "lower_kernel",
    "outline_of",
    "own_signature",
    "parameter_contracts",
    "parameter_patterns",
    "parameter_places",
    "read_source",
    "reading",
    "remember",
    "results_of",
    "signature_of",
    "table_type",
]

__getattr__ = lazy_names(
    __name__,
    {
        "dependencies": "is_library_name outline_of results_of signature_of",
        "lower": "lower_call lower_kernel",
        "machine": "intrinsic",
        "options": "Options Resolver",
        "parameters": "parameter_contracts parameter_patterns parameter_places",
        "sources": "captured_value own_signature Reading read_source reading remember",
        "tables": "captured_tables table_type",
    },
)
