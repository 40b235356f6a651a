"""What an atomic does to the element: the value op that gives the new value."""

from __future__ import annotations

from collections.abc import Mapping

from heald.types import Scalar

# By kind of the scalar type (b, i, u, f).
_MEANING: Mapping[str, Mapping[str, str]] = {
    "atomic_add": {"i": "iadd", "u": "iadd", "f": "fadd"},
    "atomic_sub": {"i": "isub", "u": "isub", "f": "fsub"},
    "atomic_min": {"i": "smin", "u": "umin", "f": "fmin"},
    "atomic_max": {"i": "smax", "u": "umax", "f": "fmax"},
    "atomic_and": {"b": "iand", "i": "iand", "u": "iand"},
    "atomic_or": {"b": "ior", "i": "ior", "u": "ior"},
    "atomic_xor": {"b": "ixor", "i": "ixor", "u": "ixor"},
}


def updating_op(name: str, t: Scalar) -> str:
    """The value op of the old value and the operand; none for an exchange, or an exchange on
    condition."""
    return _MEANING.get(name, {}).get(t.kind, "")
