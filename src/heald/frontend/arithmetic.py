"""Operators: what Python means by them on numbers and on composites, and where a sum becomes an
fma."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from heald.frontend.conversions import (
    as_value,
    composite_scalar,
    convert,
    materialise,
    meet,
    meeting_type,
)
from heald.frontend.operands import Literal, Refused, describe
from heald.frontend.scan import is_product
from heald.frontend.session import Session
from heald.ir import Value
from heald.types import (
    Array,
    Scalar,
    Struct,
    Type,
    array_like,
    b1,
    can_widen,
    describe_type,
    f32,
    f64,
    u8,
)

Number = Value | Literal

_SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_PYTHON: dict[str, Callable[..., bool | int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_BITS = {"&": "iand", "|": "ior", "^": "ixor"}
_SHIFTS = ("<<", ">>")
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul"}
_BY_COMPONENT = {"+", "-", *_BITS, *_SHIFTS}
_LIBRARY = {"*": "mul", "@": "mul", "%": "floormod", "/": "div", "//": "floordiv"}
_COMPONENT_WISE = {"*": "cw_mul", "/": "cw_div"}
_MAX_INTEGER_POWER = 64
_MAX_LITERAL_BITS = 4096


def symbol(op: ast.operator) -> str:
    """The operator as written."""
    return _SYMBOLS[type(op)]


# -- binary operators ------------------------------------------------------------------------------


def binary_expression(s: Session, node: ast.BinOp) -> Number:
    """``left op right``; a sum with exactly one operand written as a product is contracted.

    Two products stay two roundings, so ``x*y - y*x`` is 0 and ``x*x + y*y`` is symmetric.  A chain
    such as ``a + b + c + ...`` is lowered from its left end on, however long it is.
    """
    spine = [node]
    while isinstance(left := spine[-1].left, ast.BinOp) and not _may_contract(spine[-1], left):
        spine.append(left)
    value: Number | None = None
    for part in reversed(spine):
        with s.at(part):
            value = sum_or_binary(s, part, symbol(part.op), value, part.left, part.right)
    assert value is not None
    return value


def _may_contract(node: ast.BinOp, left: ast.BinOp) -> bool:
    """Is the left side a product that the sum around it looks at?"""
    return isinstance(node.op, (ast.Add, ast.Sub)) and is_product(left)


def sum_or_binary(
    s: Session,
    node: ast.AST,
    op: str,
    left: Number | None,
    left_node: ast.expr,
    right_node: ast.expr,
) -> Number:
    """The same for ``x op= e``, where the left value is at hand already."""
    left_product = left is None and is_product(left_node)
    right_product = is_product(right_node)
    if op in "+-" and left_product != right_product and not s.options.strict_fp:
        if left_product:
            assert isinstance(left_node, ast.BinOp)
            x, y = s.number(left_node.left), s.number(left_node.right)
            z = s.number(right_node)
            return _product_and_sum(s, node, left_node, op, (x, y), z, product_right=False)
        assert isinstance(right_node, ast.BinOp)
        z = s.number(left_node) if left is None else left
        x, y = s.number(right_node.left), s.number(right_node.right)
        return _product_and_sum(s, node, right_node, op, (x, y), z, product_right=True)
    a = s.number(left_node) if left is None else left
    return binary(s, node, op, a, s.number(right_node))


def _product_and_sum(
    s: Session,
    node: ast.AST,
    product_node: ast.AST,
    op: str,
    factors: tuple[Number, Number],
    z: Number,
    *,
    product_right: bool,
) -> Number:
    fused = _fused(s, node, op, factors, z, product_right=product_right)
    if fused is not None:
        return fused
    with s.at(product_node):
        product = binary(s, product_node, "*", *factors)
    a, b = (z, product) if product_right else (product, z)
    return binary(s, node, op, a, b)


def _fused(
    s: Session,
    node: ast.AST,
    op: str,
    factors: tuple[Number, Number],
    z: Number,
    *,
    product_right: bool,
) -> Value | None:
    """``x*y + z`` with one rounding per component, or None where the rule does not apply."""
    product_type = _product_type(s, *factors)
    if product_type is None:
        return None
    shape, t = product_type
    if t not in (f32, f64):
        return None
    if shape is None:
        placeholder = factors[0] if isinstance(factors[0], Value) else factors[1]
        if meeting_type(placeholder, z, t, s.type_of(z)) is not t:
            return None
    elif isinstance(z, Literal) or z.type is not shape:
        return None

    def one(x: Number, y: Number, c: Number) -> Value:
        x, y, c = (_as_scalar(s, node, v, t) for v in (x, y, c))
        if op == "-":
            x, c = (s.op("fneg", x), c) if product_right else (x, s.op("fneg", c))
        return s.op("fma", x, y, c)

    if shape is None:
        return one(*factors, z)
    return _component_wise(s, shape, one, *factors, z)


def binary(s: Session, node: ast.AST, op: str, a: Number, b: Number) -> Number:
    """One operator on two operands, never contracted."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return _fold(s, node, op, a, b)
    ta, tb = s.type_of(a), s.type_of(b)
    if isinstance(ta, Scalar) and isinstance(tb, Scalar):
        return _scalar(s, node, op, a, b)
    if op in _BY_COMPONENT and ta is tb and composite_scalar(ta) is not None:
        rule = _shift if op in _SHIFTS else _arith
        return _component_wise(s, ta, lambda x, y: rule(s, node, op, x, y), a, b)
    if op in "*/" and composite_scalar(ta) is not None and isinstance(tb, Scalar):
        return _component_wise(s, ta, lambda x, y: _like(s, node, op, x, y), a, b)
    if op == "*" and composite_scalar(tb) is not None and isinstance(ta, Scalar):
        return _component_wise(s, tb, lambda x, y: _like(s, node, op, y, x), a, b)
    if op in _LIBRARY and not {ta, tb} & _no_operators(ta, tb):
        mark = s.builder.mark()
        try:
            return s.call_builtin(node, _LIBRARY[op], (a, b))
        except Refused as refused:
            if refused.diagnostic is None or refused.diagnostic.code != "H0203":
                raise
            s.builder.rollback(mark)
    raise _unsupported(s, node, op, a, b)


def _no_operators(*types: Type) -> set[Type]:
    return {t for t in types if isinstance(t, (Array, Struct))}


def _unsupported(s: Session, node: ast.AST, op: str, a: Number, b: Number) -> Refused:
    ta, tb = s.type_of(a), s.type_of(b)
    hint = ""
    if array_like(ta) is not None or array_like(tb) is not None:
        hint = "operators work on elements: give an index"
    elif isinstance(ta, Struct) or isinstance(tb, Struct):
        hint = "operators work on the fields of a struct"
    elif ta is tb and op in _COMPONENT_WISE:
        hint = f"wp.{_COMPONENT_WISE[op]}(a, b) works component by component"
    elif op in _BY_COMPONENT and (isinstance(ta, Scalar) or isinstance(tb, Scalar)):
        composite = tb if isinstance(ta, Scalar) else ta
        hint = f"make both the same: wp.{describe_type(composite)}(...) of the number"
    return s.refuse(
        node,
        "H0201",
        f"unsupported operand types for {op}: {describe(a)} and {describe(b)}",
        hint=hint,
    )


def _like(s: Session, node: ast.AST, op: str, component: Number, other: Number) -> Value:
    """Component with scalar: the scalar takes the component's type, never the reverse."""
    assert isinstance(component, Value)
    t = component.type
    assert isinstance(t, Scalar)
    if isinstance(other, Value) and meeting_type(component, other, t, other.type) is not t:
        raise s.refuse(
            node,
            "H0201",
            f"{op} of {describe(component)} components with {describe(other)} changes their type",
            hint=f"cast the scalar: wp.{t.public}(...)",
        )
    return _arith(s, node, op, component, _as_scalar(s, node, other, t))


def _scalar(s: Session, node: ast.AST, op: str, a: Number, b: Number) -> Number:
    if op == "**":
        return _power(s, node, a, b)
    if op in _SHIFTS:
        return _shift(s, node, op, a, b)
    if op in ("//", "%"):
        x, y, t = meet(s, node, a, b)
        if t is b1:
            raise _no_bool(s, node, op)
        return s.call_builtin(node, "floordiv" if op == "//" else "floormod", (x, y))
    return _arith(s, node, op, a, b)


def _arith(s: Session, node: ast.AST, op: str, a: Number, b: Number) -> Value:
    x, y, t = meet(s, node, a, b)
    if op in _BITS:
        if t.is_float:
            raise s.refuse(node, "H0201", f"{op} works on integers and bools, not on {t.public}")
        return s.op(_BITS[op], x, y)
    if t is b1:
        raise _no_bool(s, node, op)
    if op == "/":
        if t.is_integer:
            raise s.refuse(
                node,
                "H0108",
                "/ of two integers is not allowed: Python divides exactly, Warp and C truncate",
                f"both sides are {t.public}",
                hint="write a // b for the floor, or float(a) / float(b) for the quotient",
            )
        if t is f32 and s.options.fast_math and not s.frame.source.is_written:
            return as_value(s, node, s.call_builtin(node, "div", (x, y)))
        return s.op("fdiv", x, y)
    if op not in _ARITHMETIC:
        raise s.refuse(node, "H0201", f"operator {op} does not work on {t.public}")
    return s.op(("f" if t.is_float else "i") + _ARITHMETIC[op], x, y)


def _no_bool(s: Session, node: ast.AST, op: str) -> Exception:
    return s.refuse(
        node, "H0201", f"{op} does not work on bool", hint="convert first, for example int(flag)"
    )


def _shift(s: Session, node: ast.AST, op: str, a: Number, b: Number) -> Value:
    """The count is taken modulo the width; the result has the type of the left side."""
    x = as_value(s, node, a)
    t = x.type
    if not (isinstance(t, Scalar) and t.is_integer):
        raise s.refuse(node, "H0201", f"{op} works on integers, not on {describe(a)}")
    tb = s.type_of(b)
    if not (isinstance(tb, Scalar) and tb.is_integer):
        raise s.refuse(node, "H0201", f"a shift count is an integer, not {describe(b)}")
    if isinstance(b, Literal) and not 0 <= b.value < t.bits:
        raise s.refuse(
            node,
            "H0202",
            f"shift count {b.value} is outside 0..{t.bits - 1} of {t.public}",
            hint="a count known at compile time must be smaller than the width",
        )
    count = convert(s, node, b, t)
    name = "shl" if op == "<<" else "ashr" if t.kind == "i" else "lshr"
    return s.op(name, x, count)


def _power(s: Session, node: ast.AST, a: Number, b: Number) -> Number:
    ta, tb = s.type_of(a), s.type_of(b)
    exponent = s.static_int(b)
    assert isinstance(ta, Scalar)
    assert isinstance(tb, Scalar)
    if b1 in (ta, tb):
        raise _no_bool(s, node, "**")
    if ta.is_integer and tb.is_integer:
        if isinstance(a, Value) and exponent is not None and 0 <= exponent <= _MAX_INTEGER_POWER:
            return _repeat(s, a, exponent)
        two = isinstance(a, Literal) and a.value == 2
        raise s.refuse(
            node,
            "H0201",
            "an integer power needs a literal exponent from 0 to 64",
            f"{describe(a)} to the power of {describe(b)}",
            hint=("write 1 << n" if two else "write float(a) ** b") + " for other powers",
        )
    if exponent == 2 and isinstance(a, Value):  # x*x is the correctly rounded square
        return s.op("fmul", a, a)
    x, y, _ = meet(s, node, a, b)
    return s.call_builtin(node, "pow", (x, y))


def _repeat(s: Session, a: Value, exponent: int) -> Value:
    t = a.type
    assert isinstance(t, Scalar)
    result: Value | None = None
    square = a
    while exponent:
        if exponent & 1:
            result = square if result is None else s.op("imul", result, square)
        exponent >>= 1
        if exponent:
            square = s.op("imul", square, square)
    return s.const(t, 1) if result is None else result


def _fold(s: Session, node: ast.AST, op: str, a: Literal, b: Literal) -> Literal:
    try:
        if op in ("**", "<<") and _bits_of(op, a.value, b.value) > _MAX_LITERAL_BITS:
            raise OverflowError("the result is too large")
        value = _PYTHON[op](a.value, b.value)
    except (ArithmeticError, TypeError, ValueError, KeyError) as error:
        raise s.refuse(
            node, "H0202", f"{a.value!r} {op} {b.value!r} cannot be computed: {error}"
        ) from None
    if isinstance(value, complex):
        raise s.refuse(node, "H0202", f"{a.value!r} {op} {b.value!r} is a complex number")
    return Literal(value)


def unary(s: Session, node: ast.UnaryOp) -> Number:
    """``-x``, ``+x`` and ``~x``."""
    operand = s.number(node.operand)
    match node.op:
        case ast.USub():
            return negate(s, node, operand)
        case ast.Invert():
            return _invert(s, node, operand)
    return operand


def negation(s: Session, truth: Number) -> Number:
    """``not`` of a truth value."""
    return Literal(not truth.value) if isinstance(truth, Literal) else s.op("inot", truth)


def negate(s: Session, node: ast.AST, operand: Number) -> Number:
    """``-x``, component by component on composites."""
    if isinstance(operand, Literal):
        return Literal(-operand.value)
    t = operand.type
    if composite_scalar(t) is not None:
        return _component_wise(s, t, lambda x: _negate_scalar(s, node, x), operand)
    return _negate_scalar(s, node, operand)


def _negate_scalar(s: Session, node: ast.AST, x: Number) -> Value:
    assert isinstance(x, Value)
    t = x.type
    if not isinstance(t, Scalar) or t is b1:
        raise s.refuse(node, "H0201", f"- does not work on {describe(x)}")
    return s.op("fneg" if t.is_float else "ineg", x)


def _invert(s: Session, node: ast.AST, operand: Number) -> Number:
    if isinstance(operand, Literal) and isinstance(operand.value, int):
        if isinstance(operand.value, bool):  # as numpy has it, and as runtime bools do
            return Literal(not operand.value)
        return Literal(~operand.value)
    t = s.type_of(operand)
    if composite_scalar(t) is not None:
        return _component_wise(s, t, lambda x: as_value(s, node, _invert(s, node, x)), operand)
    if isinstance(operand, Literal) or not (isinstance(t, Scalar) and (t.is_integer or t is b1)):
        raise s.refuse(node, "H0201", f"~ works on integers, not on {describe(operand)}")
    return s.op("inot", operand)


def compare(s: Session, node: ast.AST, op: ast.cmpop, a: Number, b: Number) -> Number:
    """One comparison of two numbers; ``==`` and ``!=`` also of two equal composite types."""
    name = _PREDICATES[type(op)]
    if isinstance(a, Literal) and isinstance(b, Literal):
        return Literal(bool(_COMPARE[name](a.value, b.value)))
    ta, tb = s.type_of(a), s.type_of(b)
    if ta is tb and name in ("eq", "ne") and composite_scalar(ta) is not None:
        assert isinstance(a, Value)
        assert isinstance(b, Value)
        pairs = zip(s.builder.parts(a), s.builder.parts(b), strict=True)
        tests = [_compare_scalar(s, node, name, x, y) for x, y in pairs]
        total = tests[0]
        for test in tests[1:]:
            total = s.op("iand" if name == "eq" else "ior", total, test)
        return total
    return _compare_scalar(s, node, name, a, b)


def _compare_scalar(s: Session, node: ast.AST, name: str, a: Number, b: Number) -> Value:
    ta, tb = s.type_of(a), s.type_of(b)
    if not (isinstance(ta, Scalar) and isinstance(tb, Scalar)):
        raise _unsupported(s, node, _SIGNS[name], a, b)
    x, y, t = meet(s, node, a, b)
    if t.is_float:
        return s.op("fcmp", x, y, pred="une" if name == "ne" else "o" + name)
    if t is b1 and name not in ("eq", "ne"):  # False is less than True
        x, y = (convert(s, node, v, u8) for v in (x, y))
    sign = "" if name in ("eq", "ne") else "s" if t.kind == "i" else "u"
    return s.op("icmp", x, y, pred=sign + name)


_PREDICATES = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_COMPARE = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}


def _bits_of(op: str, a: bool | int | float, b: bool | int | float) -> float:
    """A bound on the size of an integer result, so that no literal exhausts memory."""
    if not (isinstance(a, int) and isinstance(b, int)) or b < 0:
        return 0
    return a.bit_length() + b if op == "<<" else a.bit_length() * b


def _as_scalar(s: Session, node: ast.AST, operand: Number, t: Scalar) -> Value:
    if isinstance(operand, Literal):
        return materialise(s, node, operand, t)
    return convert(s, node, operand, t)


def _product_type(s: Session, x: Number, y: Number) -> tuple[Type | None, Scalar] | None:
    """``(composite or None, scalar type)`` of an element-wise product, None for other products."""
    if isinstance(x, Literal) and isinstance(y, Literal):
        return None
    tx, ty = s.type_of(x), s.type_of(y)
    if isinstance(tx, Scalar) and isinstance(ty, Scalar):
        t = meeting_type(x, y, tx, ty)
        return None if t is None else (None, t)
    for composite, scalar, other in ((tx, ty, y), (ty, tx, x)):
        t = composite_scalar(composite)
        if t is None or not isinstance(scalar, Scalar):
            continue
        if isinstance(other, Literal) or can_widen(scalar, t):
            return composite, t
    return None


def _component_wise(s: Session, shape: Type, one: Callable[..., Value], *operands: Number) -> Value:
    """Apply a scalar rule to every component; scalars and literals stand for all components."""
    assert not isinstance(shape, Scalar)
    columns = [
        s.builder.parts(v) if isinstance(v, Value) and v.type is shape else None for v in operands
    ]
    count = len(next(c for c in columns if c is not None))
    parts = [
        one(*(v if c is None else c[k] for v, c in zip(operands, columns, strict=True)))
        for k in range(count)
    ]
    return s.builder.compose(_retyped(shape, parts[0].type), parts)


def _retyped(shape: Type, t: Type) -> Type:
    assert isinstance(t, Scalar)
    assert composite_scalar(shape) is t, "component-wise arithmetic keeps the component type"
    return shape
