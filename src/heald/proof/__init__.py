"""Proofs about kernels: solver encodings, obligations, verdicts.  z3 loads on first use."""

from heald.proof.vectors import NotExpressible, Vectors

__all__ = ["NotExpressible", "Vectors"]
