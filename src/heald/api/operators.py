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


def mod(a: Any, b: Any) -> Any:
    return a % b


def neg(a: Any) -> Any:
    return -a


_FUNCTIONS = {"+": add, "-": sub, "*": mul, "@": matmul, "/": div, "%": mod, "neg": neg}
_CALLS = {
    op: HostCall(op, lambda f=f: [f], is_operator=True)  # type: ignore[misc]
    for op, f in _FUNCTIONS.items()
}


def evaluate(op: str, lhs: object, rhs: object) -> Any:
    """The value of ``lhs op rhs``; ``neg`` has no right side."""
    return _CALLS[op](lhs) if op == "neg" else _CALLS[op](lhs, rhs)
