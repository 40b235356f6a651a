"""Value ops as Python expressions over Python numbers.

An expression holds the names of its operands, literals, and names of ``interp.numbers``.  Where
there is none, the closure calls the record of the op on numpy arrays instead.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from heald.interp import numbers
from heald.ir import Op
from heald.ops import TABLE
from heald.types import Scalar, b1, bf16, f16, f32, f64

Template = Callable[..., str | None]
"""``(result type, type of the first operand, op, *names) -> expression``, or None."""

_PACKING = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q"}
_PACKING |= {"u64": "Q", "f16": "e", "f32": "f", "f64": "d"}

_RELATION = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def literal(value: bool | int | float) -> str:
    """A number as Python source that keeps every bit."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NAN" if value != value else "INF" if value > 0 else "(-INF)"
    return repr(value) if isinstance(value, bool) or _is_plain(value) else f"({value!r})"


def _is_plain(value: float) -> bool:
    return math.copysign(1.0, value) > 0


def wrapped(t: Scalar, expression: str) -> str:
    """An integer expression reduced to the range of ``t``."""
    mask = hex((1 << t.bits) - 1)
    if t.kind == "u":
        return f"({expression}) & {mask}"
    half = hex(1 << (t.bits - 1))
    return f"(({expression}) + {half} & {mask}) - {half}"


def rounded(t: Scalar, expression: str) -> str:
    """A float64 expression rounded to ``t``."""
    if t is f32:
        return f"c_float({expression}).value"
    if t is f64:
        return expression
    return f"{'round_half' if t is f16 else 'round_brain'}({expression})"


def _bits(t: Scalar, name: str) -> str:
    """The bits of an integer as a number that is not negative."""
    return name if t.kind == "u" else f"({name} & {hex((1 << t.bits) - 1)})"


# -- makers of templates ---------------------------------------------------------------------------


def _integer(form: str) -> Template:
    return lambda t, s, op, *names: wrapped(t, form.format(*names))


def _float(form: str) -> Template:
    return lambda t, s, op, *names: rounded(t, form.format(*names))


def _exact(form: str) -> Template:
    return lambda t, s, op, *names: form.format(*names)


def _fma(t: Scalar, s: Scalar, op: Op, *names: str) -> str | None:
    how = {f32: "fuse_single", f64: "fuse_double"}.get(t)
    return how and f"{how}({', '.join(names)})"


def _not(t: Scalar, s: Scalar, op: Op, a: str) -> str:
    if t is b1:
        return f"not {a}"
    return f"~{a}" if t.kind == "i" else f"{a} ^ {hex(t.highest)}"


def _shl(t: Scalar, s: Scalar, op: Op, a: str, b: str) -> str:
    return wrapped(t, f"{a} << ({b} & {t.bits - 1})")


def _lshr(t: Scalar, s: Scalar, op: Op, a: str, b: str) -> str:
    shifted = f"{_bits(t, a)} >> ({b} & {t.bits - 1})"
    return shifted if t.kind == "u" else wrapped(t, shifted)


def _ashr(t: Scalar, s: Scalar, op: Op, a: str, b: str) -> str | None:
    return f"{a} >> ({b} & {t.bits - 1})" if t.kind == "i" else None


def _popcount(t: Scalar, s: Scalar, op: Op, a: str) -> str:
    return f"({_bits(t, a)}).bit_count()"


def _clz(t: Scalar, s: Scalar, op: Op, a: str) -> str:
    return f"{t.bits} - ({_bits(t, a)}).bit_length()"


def _high_product(t: Scalar, s: Scalar, op: Op, a: str, b: str) -> str:
    return f"{a} * {b} >> {t.bits}"


def _icmp(t: Scalar, s: Scalar, op: Op, a: str, b: str) -> str | None:
    pred = str(op.attrs["pred"])
    if pred in ("eq", "ne"):
        return f"{a} {_RELATION[pred]} {b}"
    relation = _RELATION[pred[1:]]
    if pred[0] == "u":
        return f"{_bits(s, a)} {relation} {_bits(s, b)}"
    return f"{a} {relation} {b}" if s.kind == "i" else None


def _fcmp(t: Scalar, s: Scalar, op: Op, a: str, b: str) -> str:
    return f"{a} {_RELATION[str(op.attrs['pred'])[1:]]} {b}"


def _sext(t: Scalar, s: Scalar, op: Op, a: str) -> str | None:
    return a if s.kind == "i" and t.kind == "i" else None


def _zext(t: Scalar, s: Scalar, op: Op, a: str) -> str:
    return f"int({a})" if s is b1 else _bits(s, a)


def _trunc(t: Scalar, s: Scalar, op: Op, a: str) -> str:
    return wrapped(t, a)


def _fpext(t: Scalar, s: Scalar, op: Op, a: str) -> str:
    return a


def _fptrunc(t: Scalar, s: Scalar, op: Op, a: str) -> str | None:
    return None if s is f64 and t is bf16 else rounded(t, a)


_EXACT_IN = {f64: 1 << 10, f32: 53, f16: 53, bf16: 24}
"""Bits of an integer from which one rounding makes the float."""


def _to_float(t: Scalar, s: Scalar, op: Op, a: str) -> str | None:
    return rounded(t, f"float({a})") if s.bits < _EXACT_IN[t] else None


def _saturate(t: Scalar, s: Scalar, op: Op, a: str) -> str:
    return f"saturate({a}, {t.lowest}, {t.highest})"


def _bitcast(t: Scalar, s: Scalar, op: Op, a: str) -> str | None:
    if s.name not in _PACKING or t.name not in _PACKING:
        return None
    return f"unpack_{t.name}(pack_{s.name}({a}))[0]"


# -- tables ----------------------------------------------------------------------------------------

TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        "iadd": _integer("{0} + {1}"),
        "isub": _integer("{0} - {1}"),
        "imul": _integer("{0} * {1}"),
        "ineg": _integer("-{0}"),
        "idiv": _integer("quotient({0}, {1})"),
        "irem": _exact("remainder({0}, {1})"),
        "udiv": _exact("{0} // {1}"),
        "urem": _exact("{0} % {1}"),
        "iand": _exact("{0} & {1}"),
        "ior": _exact("{0} | {1}"),
        "ixor": _exact("{0} ^ {1}"),
        "inot": _not,
        "shl": _shl,
        "lshr": _lshr,
        "ashr": _ashr,
        "icmp": _icmp,
        "fcmp": _fcmp,
        **dict.fromkeys(("smin", "umin", "fmin"), _exact("{1} if {1} < {0} else {0}")),
        **dict.fromkeys(("smax", "umax", "fmax"), _exact("{1} if {1} > {0} else {0}")),
        "popcount": _popcount,
        "clz": _clz,
        "smulhi": _high_product,
        "umulhi": _high_product,
        "fadd": _float("{0} + {1}"),
        "fsub": _float("{0} - {1}"),
        "fmul": _float("{0} * {1}"),
        "fdiv": _float("divide({0}, {1})"),
        "fsqrt": _float("root({0})"),
        "fneg": _exact("-{0}"),
        "fabs": _exact("abs({0})"),
        "fma": _fma,
        "copysign": _exact("copysign({0}, {1})"),
        "floor": _exact("round_down({0})"),
        "ceil": _exact("round_up({0})"),
        "ftrunc": _exact("round_toward_zero({0})"),
        "rint": _exact("round_to_even({0})"),
        "sext": _sext,
        "zext": _zext,
        "trunc": _trunc,
        "fpext": _fpext,
        "fptrunc": _fptrunc,
        "sitofp": _to_float,
        "uitofp": _to_float,
        "fptosi_sat": _saturate,
        "fptoui_sat": _saturate,
        "bitcast": _bitcast,
        "select": _exact("{1} if {0} else {2}"),
        **{name: _exact("{0}") for name in TABLE if name.endswith("_approx")},
    }
)
"""By name of the op."""


def expression(op: Op, names: tuple[str, ...]) -> str | None:
    """The value of an op whose operands have ``names``; its divisor is not zero."""
    template = TEMPLATES.get(op.name)
    result, operand = op.result.type, op.operands[0].type if op.operands else None
    if template is None or not isinstance(result, Scalar) or not isinstance(operand, Scalar):
        return None
    return template(result, operand, op, *names)


def namespace() -> dict[str, Any]:
    """The names that expressions may hold."""
    known: dict[str, Any] = {
        name: getattr(numbers, name)
        for name in (
            "NAN",
            "INF",
            "c_float",
            "divide",
            "fuse_double",
            "fuse_single",
            "quotient",
            "remainder",
            "root",
            "round_brain",
            "round_down",
            "round_half",
            "round_to_even",
            "round_toward_zero",
            "round_up",
            "saturate",
        )
    }
    known["copysign"] = math.copysign
    for name, code in _PACKING.items():
        packing = struct.Struct(f"<{code}")
        known[f"pack_{name}"], known[f"unpack_{name}"] = packing.pack, packing.unpack
    return known
