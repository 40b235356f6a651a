"""What a compiler hands to a runtime.  The runtime knows these records and never WIR."""

from heald.artifact.condition import (
    Apart,
    ArrayPlace,
    Clause,
    LaunchCondition,
    LinearTerm,
    Symbol,
    Unit,
)
from heald.artifact.errors import fault_error
from heald.artifact.faults import Fault, FaultKind
from heald.artifact.records import (
    Access,
    Artifact,
    Lanes,
    Parameter,
    PrintFormat,
    PrintRecord,
    Site,
)

__all__ = [
    "Access",
    "Apart",
    "ArrayPlace",
    "Artifact",
    "Clause",
    "Fault",
    "FaultKind",
    "Lanes",
    "LaunchCondition",
    "LinearTerm",
    "Parameter",
    "PrintFormat",
    "PrintRecord",
    "Site",
    "Symbol",
    "Unit",
    "fault_error",
]
