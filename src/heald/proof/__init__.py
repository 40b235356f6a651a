"""Proofs about kernels: solver encodings, obligations, verdicts.  z3 loads on first use."""

from heald.proof.components import used_leaves
from heald.proof.conditions import Clause, parse_clauses
from heald.proof.context import Request
from heald.proof.prove import prove
from heald.proof.result import (
    PROPERTIES,
    Content,
    Finding,
    Live,
    Proof,
    PropertyProof,
    Suspect,
)
from heald.proof.vectors import NotExpressible, Vectors

__all__ = [
    "PROPERTIES",
    "Clause",
    "Content",
    "Finding",
    "Live",
    "NotExpressible",
    "Proof",
    "PropertyProof",
    "Request",
    "Suspect",
    "Vectors",
    "parse_clauses",
    "prove",
    "used_leaves",
]
