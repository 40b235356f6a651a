"""Equality of kernels and the hashes that caches use: the same in every process, never salted."""

from __future__ import annotations

import hashlib

from heald.ir.core import Kernel
from heald.ir.text import canonical_text, to_text


def equal(a: Kernel, b: Kernel) -> bool:
    """Do both kernels mean the same, op by op?  Source names and spans do not count."""
    return canonical_text(a) == canonical_text(b)


def code_hash(kernel: Kernel) -> str:
    """SHA-256 of the canonical text in hexadecimal: the key of everything but source maps."""
    return hashlib.sha256(canonical_text(kernel).encode()).hexdigest()


def span_hash(kernel: Kernel) -> str:
    """SHA-256 of the text with names and spans in hexadecimal: the key of source maps."""
    return hashlib.sha256(to_text(kernel, spans=True).encode()).hexdigest()
