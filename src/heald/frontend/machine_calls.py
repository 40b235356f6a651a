"""``machine.op(...)`` in kernel-language code: one machine op, nothing converted in silence."""

from __future__ import annotations

from heald.diagnostics import InternalError
from heald.frontend.conversions import materialise
from heald.frontend.intrinsics import Arguments
from heald.frontend.operands import Literal, Operand, Static, describe
from heald.frontend.session import Session
from heald.ir import Value
from heald.types import Scalar, Type, as_concrete, b1


def call_machine_op(s: Session, arguments: Arguments, name: str) -> Operand:
    """Emit the op.  A trailing type is the declared result type; keywords are attributes."""
    operands = list(arguments.positional)
    declared: Type | None = None
    if operands and isinstance(operands[-1], Static):
        declared = _declared(s, arguments, operands.pop())
    attrs = {key: _attribute(s, arguments, key, value) for key, value in arguments.named.items()}
    values = _values(s, arguments, name, [s.as_number(arguments.node, o) for o in operands])
    try:
        return s.op(name, *values, type=declared, **attrs)
    except InternalError as error:
        kinds = ", ".join(describe(v) for v in values)
        raise s.refuse(
            arguments.node, "H0203", f"machine.{name} does not take ({kinds}): {error}"
        ) from None


def _declared(s: Session, arguments: Arguments, operand: Operand) -> Type:
    declared = as_concrete(operand.object) if isinstance(operand, Static) else None
    if declared is None:
        raise s.refuse(arguments.node, "H0207", f"{describe(operand)} is not a concrete type")
    return declared


def _attribute(
    s: Session, arguments: Arguments, key: str, operand: Operand
) -> bool | int | float | str:
    value = operand.value if isinstance(operand, Literal) else getattr(operand, "object", None)
    if isinstance(operand, Value):
        value = s.static_int(operand)
    if not isinstance(value, (bool, int, float, str)):
        raise s.refuse(arguments.node, "H0107", f"attribute '{key}' is a literal number or string")
    return value


def _values(
    s: Session, arguments: Arguments, name: str, operands: list[Value | Literal]
) -> list[Value]:
    """Literals take the type of the first typed operand; the condition of ``select`` stands
    apart."""
    skip = 1 if name == "select" else 0
    typed = [o.type for o in operands[skip:] if isinstance(o, Value)]
    out = []
    for k, operand in enumerate(operands):
        if isinstance(operand, Value):
            out.append(operand)
            continue
        t = b1 if k < skip else typed[0] if typed else None
        if t is None:
            raise s.refuse(
                arguments.node,
                "H0203",
                f"machine.{name} of literals alone has no type",
                hint="cast one of them, for example float32(0.5)",
            )
        if not isinstance(t, Scalar):
            raise s.refuse(arguments.node, "H0203", f"machine.{name} works on scalars")
        out.append(materialise(s, arguments.node, operand, t))
    return out
