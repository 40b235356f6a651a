"""Operators of host vectors, matrices, quaternions and transforms: evaluated as a kernel would."""

# ruff: noqa: D103

from typing import Any

from heald.api.calls import HostCall


def add(a: Any, b: Any) -> Any:
    return a + b


def sub(a: Any, b: Any) -> Any:
    return a - b


def mul(a: Any, b: Any) -> Any:
    return a * b


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def div(a: Any, b: Any) -> Any:
    return a / b


def floordiv(a: Any, b: Any) -> Any:
    return a // b


def mod(a: Any, b: Any) -> Any:
    return a % b


def bit_and(a: Any, b: Any) -> Any:
    return a & b


def bit_or(a: Any, b: Any) -> Any:
    return a | b


def bit_xor(a: Any, b: Any) -> Any:
    return a ^ b


def lshift(a: Any, b: Any) -> Any:
    return a << b


def rshift(a: Any, b: Any) -> Any:
    return a >> b


def neg(a: Any) -> Any:
    return -a


def invert(a: Any) -> Any:
    return ~a


_FUNCTIONS = {"+": add, "-": sub, "*": mul, "@": matmul, "/": div, "//": floordiv, "%": mod}
_FUNCTIONS |= {"&": bit_and, "|": bit_or, "^": bit_xor, "<<": lshift, ">>": rshift}
_UNARY = {"neg": neg, "~": invert}
_CALLS = {
    op: HostCall(op, lambda f=f: [f], is_operator=True)  # type: ignore[misc]
    for op, f in (_FUNCTIONS | _UNARY).items()
}


def evaluate(op: str, lhs: object, rhs: object) -> Any:
    """The value of ``lhs op rhs``; ``neg`` and ``~`` have no right side."""
    return _CALLS[op](lhs) if op in _UNARY else _CALLS[op](lhs, rhs)
