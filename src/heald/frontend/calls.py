"""Calls: overloads of user functions and builtins, inlining, and what cannot be called."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from heald.diagnostics import InternalError, Note
from heald.frontend.arithmetic import binary
from heald.frontend.captures import operand_of
from heald.frontend.constructors import construct
from heald.frontend.conversions import as_value, composite_scalar, widen
from heald.frontend.generic_constructors import GENERIC
from heald.frontend.inlining import inline
from heald.frontend.intrinsics import INTRINSICS, PYTHON, Arguments
from heald.frontend.machine import MachineOp
from heald.frontend.machine_calls import call_machine_op
from heald.frontend.mismatch import fits_none, no_overload
from heald.frontend.operands import (
    Binding,
    Literal,
    Operand,
    Refused,
    Several,
    Static,
    describe,
)
from heald.frontend.session import Session
from heald.frontend.signatures import pattern_of
from heald.frontend.sources import ParameterSource, parameters_of
from heald.ir import Value
from heald.types import (
    Array,
    Pattern,
    Scalar,
    Type,
    TypeClass,
    array_like,
    as_concrete,
    can_widen,
    contract_of,
    f32,
    fits,
    is_generic,
    join,
    literal_type,
    match_pattern,
)

_MATH_SAME = {"sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"}
_MATH_SAME |= {"exp", "log", "log2", "log10", "pow", "copysign", "isnan", "isinf", "isfinite"}
_MATH_SAME |= {"degrees", "radians", "erf", "erfc", "cbrt"}
_ALLOCATE = {"array", "empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros_like"}
_MATH_OTHER = {"fabs": "abs"}
_ITERATORS = (enumerate, filter, map, reversed, zip)  # refused before what they would iterate over
_PYTHON = ("builtins", "math")
_HINTS = {
    "eval": "a kernel is compiled; there is nothing to evaluate at run time",
    "exec": "a kernel is compiled; there is nothing to execute at run time",
    "getattr": "write the attribute with a dot; names are resolved at compile time",
    "setattr": "write the assignment; names are resolved at compile time",
    "round": "Python's round() gives an int: use wp.rint (ties to even) or wp.round (ties away)",
    "sum": "write a loop",
    "enumerate": "loop over range(...) and index with its variable",
    "zip": "loop over range(...) and index each with its variable",
    "reversed": "loop over range(n - 1, -1, -1)",
    "map": "write a loop",
    "filter": "write a loop with an if",
    "range": "it stands behind `in` of a for loop",
    "divmod": "write a // b and a % b",
    "any": "write a loop that sets a flag",
    "all": "write a loop that sets a flag",
    "sorted": "sort on the host, or with wp.utils.radix_sort_pairs",
    "isinstance": "types are known at compile time: write `if type(x) is wp.float32`",
    "floor": "math.floor gives an int in Python: write int(wp.floor(x))",
    "ceil": "math.ceil gives an int in Python: write int(wp.ceil(x))",
    "trunc": "math.trunc gives an int in Python: write int(x)",
}


def call(s: Session, node: ast.Call) -> Operand:
    """A call expression."""
    callee = s.expression(node.func)
    if not isinstance(callee, Static):
        raise s.refuse(node.func, "H0102", f"{describe(callee)} cannot be called")
    obj = callee.object
    name = intrinsic_name(obj)
    if name == "static":
        return _static(s, node)
    if any(obj is known for known in _ITERATORS):
        raise _unsupported(s, node, obj)
    arguments = _arguments(s, node)
    with s.at(node):
        if name is not None:
            return (INTRINSICS.get(name) or GENERIC[name])(s, arguments)
        if isinstance(obj, MachineOp):
            return call_machine_op(s, arguments, obj.name)
        functions = getattr(obj, "__heald_overloads__", None)
        if functions is not None:
            result = call_overloads(s, arguments, name_of(obj), functions)
            return _rebind_updated(s, arguments, obj, result)
        if obj is pow and len(arguments.positional) == 2 and not arguments.named:
            x, y = (s.as_number(arguments.at(o), o) for o in arguments.positional)
            return binary(s, node, "**", x, y)
        builtin = _python_builtin(s, obj)
        if builtin is not None:
            return _call_python_builtin(s, arguments, name_of(obj), builtin.__heald_overloads__)
        t = as_concrete(obj)
        if t is not None:
            return construct(s, arguments, t)
    raise _unsupported(s, node, obj)


def _python_builtin(s: Session, obj: Any) -> Any:
    """The library function that a Python builtin or a function of ``math`` stands for."""
    if obj in (abs, min, max):
        return s.resolver(obj.__name__)
    name = getattr(obj, "__name__", "")
    if getattr(math, name, None) is obj and (name in _MATH_SAME or name in _MATH_OTHER):
        return s.resolver(_MATH_OTHER.get(name, name))
    return None


def _call_python_builtin(
    s: Session, arguments: Arguments, name: str, functions: Sequence[FunctionType]
) -> Operand:
    """``min`` and ``max`` of more than two go from left to right, as in Python."""
    *first, last = arguments.positional or (Static(None),)
    if name in ("min", "max") and len(first) > 1:
        rest = replace(arguments, positional=tuple(first))
        pair = (_call_python_builtin(s, rest, name, functions), last)
        arguments = Arguments(arguments.node, pair, arguments.named)
    return call_overloads(s, arguments, name, functions)


def _unsupported(s: Session, node: ast.Call, obj: Any) -> Refused:
    return s.refuse(
        node,
        "H0102",
        f"Unsupported function call: {ast.unparse(node.func)}",
        "not a kernel function, builtin or type",
        hint=_instead(s, obj, getattr(obj, "__name__", "")),
    )


def _instead(s: Session, obj: Any, name: str) -> str:
    """What to write instead of calling a Python object."""
    owner = getattr(obj, "__self__", None)
    made_in = getattr(obj, "__module__", None) or type(owner).__module__
    home = made_in.partition(".")[0]
    if name in _HINTS and (home in _PYTHON or (home == "numpy" and s.resolver(name) is None)):
        return _HINTS[name]
    if "random" in made_in.split("."):
        return "write state = wp.rand_init(seed, wp.tid()) once, then wp.randf(state)"
    if type(obj).__module__ == "heald.api.kernel":
        return "kernels are launched, not called: move what both need to a @wp.func"
    if home == "heald" and name in _ALLOCATE:
        return "wp.zeros(shape=8, dtype=float) makes a small array local to the thread"
    if home == "heald":
        return f"'{name}' works on the host only"
    if isinstance(obj, FunctionType) and home not in sys.stdlib_module_names:
        return f"decorate '{name}' with @wp.func to call it from a kernel"
    if s.resolver(name) is not None:
        return f"write wp.{name}"
    if isinstance(obj, type) and home not in sys.stdlib_module_names and home != "numpy":
        return f"decorate '{name}' with @wp.struct to make values of it in a kernel"
    return "kernels call @wp.func functions and the builtins of wp"


def _arguments(s: Session, node: ast.Call) -> Arguments:
    positional: list[Operand] = []
    places: list[ast.AST] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            operand = s.expression(argument.value)
            if not isinstance(operand, Several):
                raise s.refuse(
                    argument, "H0104", "only a tuple known at compile time can be spread"
                )
            positional += operand.items
            places += [argument] * len(operand.items)
        else:
            positional.append(s.expression(argument))
            places.append(argument)
    named = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise s.refuse(
                keyword.value,
                "H0104",
                "'**' in a call is not supported in kernels",
                hint="write name=value for each argument",
            )
        named[keyword.arg] = s.expression(keyword.value)
        places.append(keyword.value)
    return Arguments(node, tuple(positional), named, tuple(places))


def _static(s: Session, node: ast.Call) -> Operand:
    """``wp.static(expression)``: evaluated by Python while the kernel is compiled."""
    if len(node.args) != 1 or node.keywords:
        raise s.refuse(node, "H0305", "wp.static takes one expression")
    value = evaluate(s, node.args[0])
    if isinstance(value, range):
        return Static(value)
    return operand_of(s, node, value)


def evaluate(s: Session, node: ast.expr, code: str = "H0107") -> Any:
    """What Python makes of an expression in which captured names and compile-time values stand."""
    names = s.frame.source.namespace()
    for name in s.frame.source.local_names:
        names.pop(name, None)
    for name, entry in s.frame.env.items():
        known = _python_value(s, entry.operand) if isinstance(entry, Binding) else ()
        names.pop(name, None)
        if known:
            names[name] = known[0]
    names["type"] = lambda x: x.type if isinstance(x, StaticView) else type(x)
    source = ast.Expression(node)
    try:
        return eval(compile(source, s.frame.source.file, "eval"), names)
    except Exception as error:  # noqa: BLE001 - user code may raise anything
        if s.frame.source.is_written and isinstance(error, ValueError):
            raise s.refuse(node, "H0203", str(error)) from None
        late = _known_late(s, node)
        raise s.refuse(
            node,
            code,
            f"this cannot be evaluated at compile time: {type(error).__name__}: {error}"
            if not late
            else f"this cannot be evaluated at compile time: {late} known at run time only",
            hint="captured names and values known at compile time are visible here",
        ) from None


def _known_late(s: Session, node: ast.expr) -> str:
    """``'x' and 'y' are``: the runtime values that an expression uses; empty where it has none."""
    found: dict[str, None] = {}
    for part in ast.walk(node):
        entry = s.frame.env.get(part.id) if isinstance(part, ast.Name) else None
        operand = entry.operand if isinstance(entry, Binding) else None
        if isinstance(part, ast.Name) and isinstance(operand, Value) and operand not in s.literals:
            found[f"'{part.id}'"] = None
    return f"{' and '.join(found)} {'is' if len(found) == 1 else 'are'}" if found else ""


def _python_value(s: Session, operand: Operand) -> tuple[Any, ...]:
    """What ``wp.static`` sees of a local: its number, its object, or (to ask its length and type)
    itself."""
    match operand:
        case Literal(value) | Static(value):
            return (value,)
        case Value() if operand in s.literals:
            return (s.literals[operand],)
        case Value():
            return (StaticView(operand.type),)
    return ()


@dataclass(frozen=True, slots=True)
class StaticView:
    """A runtime value as ``wp.static`` sees it: only its type."""

    type: Type

    def __len__(self) -> int:
        shape = getattr(self.type, "shape", None)
        if not shape:
            raise TypeError("the length is not known at compile time")
        return int(shape[0])


def intrinsic_name(obj: Any) -> str | None:
    """The intrinsic that an object stands for, or None."""
    try:
        known = PYTHON.get(obj)
    except TypeError:  # unhashable
        known = None
    return known or getattr(obj, "__heald_intrinsic__", None)


def callee_of(s: Session, node: ast.Call) -> Any:
    """The object called, where that is plain from the names; None otherwise.  Reports nothing."""
    func = node.func
    while isinstance(func, ast.Attribute):
        func = func.value
    if not isinstance(func, ast.Name):
        return None
    mark = s.builder.mark()
    try:
        operand = s.expression(node.func)
    except Refused:
        return None
    finally:
        s.builder.rollback(mark)
    return operand.object if isinstance(operand, Static) else None


def name_of(obj: Any) -> str:
    """What a callable is called."""
    return getattr(obj, "__name__", None) or getattr(obj, "name", None) or repr(obj)


# -- arguments that a call updates -----------------------------------------------------------------


def updated_names(s: Session, node: ast.Call) -> list[str]:
    """Local names that a call rebinds (``state`` of ``wp.randf(state)``)."""
    callee = callee_of(s, node)
    return [n.id for n in _updated_nodes(node, callee) if isinstance(n, ast.Name)]


def _updated_nodes(node: ast.Call, callee: Any) -> list[ast.expr]:
    updates: Sequence[str] = getattr(callee, "updates", ())
    if not updates:
        return []
    names = [p.name for p in parameters_of(callee.__heald_overloads__[0])]
    named = {k.arg: k.value for k in node.keywords}
    by_name = dict(zip(names, node.args, strict=False)) | named
    return [by_name[u] for u in updates if u in by_name]


def _rebind_updated(s: Session, arguments: Arguments, callee: Any, result: Operand) -> Operand:
    """The first results of a function that updates arguments are their new values."""
    count = len(getattr(callee, "updates", ()))
    if not count:
        return result
    assert isinstance(arguments.node, ast.Call)
    assert isinstance(result, Several)
    for node, value in zip(_updated_nodes(arguments.node, callee), result.items, strict=False):
        if isinstance(node, ast.Name) and node.id in s.frame.env:
            s.bind(node.id, value, node)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            raise s.refuse(
                node,
                "H0109",
                f"'{name_of(callee)}' changes this argument, so it must be a local variable",
                hint="assign it to a local first, and store that afterwards where it is kept",
            )
    rest = result.items[count:]
    return rest[0] if len(rest) == 1 else Several(rest)


# -- overloads -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Candidate:
    cost: int
    function: FunctionType
    adapt: Callable[[], dict[str, Operand]]


def call_builtin(s: Session, node: ast.AST, name: str, operands: tuple[Operand, ...]) -> Operand:
    """Call a library function by name, for an operator or a protocol."""
    builtin = s.resolver(name)
    if builtin is None:
        raise InternalError(f"the library has no {name}")
    return call_overloads(s, Arguments(node, operands, {}), name, builtin.__heald_overloads__)


def call_overloads(
    s: Session, arguments: Arguments, name: str, functions: Sequence[FunctionType]
) -> Operand:
    """Choose the overload that needs the fewest conversions, and inline it."""
    answers = [_match(s, f, arguments) for f in functions]
    found = [answer for answer in answers if isinstance(answer, _Candidate)]
    if not found:
        for answer in answers:
            if isinstance(answer, Refused):
                raise answer  # all fits but one literal
        raise no_overload(s, arguments, name, functions)
    best = min(found, key=lambda c: c.cost)
    operands = best.adapt()
    function = _by_mode(s, best.function, operands)
    if s.frame.source.is_written or not _is_static(function):
        return inline(s, arguments.node, function, operands)
    mistakes, given = s.mistakes(), None
    try:
        given = inline(s, arguments.node, function, operands)
    except Refused as refused:
        s.report(refused)
    if given is not None and s.failures == mistakes[0]:
        return given
    # The user has not written what does not compile: it is said of the call.
    why = [Note(found.message) for found in s.errors[mistakes[1] :][:1]]
    s.forget(mistakes)
    raise fits_none(s, arguments, name, functions, why)


def _is_static(function: FunctionType) -> bool:
    """Is it a builtin with an argument that is known at compile time, such as a type?"""
    written = getattr(function, "__heald_written__", False)
    return written and not all(p.has_annotation for p in parameters_of(function))


def _by_mode(s: Session, function: FunctionType, operands: Mapping[str, Operand]) -> FunctionType:
    """The overload itself, or what ``fast_math`` puts in its place for float32."""
    fast: FunctionType | None = getattr(function, "__heald_fast__", None)
    if not s.options.fast_math or fast is None:
        return function
    single = all(isinstance(o, Value) and o.type is f32 for o in operands.values())
    return fast if single else function


def _match(s: Session, function: FunctionType, arguments: Arguments) -> _Candidate | Refused | None:
    """How an overload takes the arguments; why not, where it is one literal; None otherwise."""
    parameters = parameters_of(function)
    for parameter in parameters:
        if contract_of(parameter.annotation) is not None:
            message = f"parameter '{parameter.name}' of '{function.__name__}' has a contract"
            hint = "contracts are for parameters of kernels: write them there"
            raise s.refuse(arguments.node, "H0211", message, hint=hint)
    bound = _bind_arguments(s, parameters, arguments)
    if bound is None:
        return None
    classes = _class_types(s, parameters, bound)
    if classes is None:
        return None
    cost = 0
    known: dict[str, Any] = dict(classes)
    for parameter in parameters:
        operand = bound[parameter.name]
        step = _fit(s, pattern_of(parameter), operand, known)
        if step is None:
            return None
        cost += step

    def adapt() -> dict[str, Operand]:
        return {
            p.name: _adapted(s, arguments.at(bound[p.name]), pattern_of(p), bound[p.name], known)
            for p in parameters
        }

    mark = s.builder.mark()
    try:
        adapt()
    except Refused as refused:
        return refused
    finally:
        s.builder.rollback(mark)  # another overload may be taken
    return _Candidate(cost, function, adapt)


def _bind_arguments(
    s: Session, parameters: Sequence[ParameterSource], arguments: Arguments
) -> dict[str, Operand] | None:
    """Operands by parameter name, defaults filled in; None when names or counts do not fit."""
    ordered = [p.name for p in parameters if p.by_position]
    named = {p.name for p in parameters if p.by_name}
    if len(arguments.positional) > len(ordered):
        return None
    bound: dict[str, Operand] = dict(zip(ordered, arguments.positional, strict=False))
    for name, operand in arguments.named.items():
        if name not in named or name in bound:
            return None
        bound[name] = operand
    for parameter in parameters:
        if parameter.name not in bound:
            if not parameter.has_default:
                return None
            bound[parameter.name] = operand_of(s, arguments.node, parameter.default)
    return bound


def _class_types(
    s: Session, parameters: Sequence[ParameterSource], bound: Mapping[str, Operand]
) -> dict[str, Scalar] | None:
    """The type that each type class of a signature stands for: where its arguments meet.

    The types of components and of array elements count too, so that literals next to a ``vec3d``
    become float64.
    """
    groups: dict[TypeClass, list[Scalar | Literal | None]] = {}
    for parameter in parameters:
        pattern, operand = pattern_of(parameter), bound[parameter.name]
        if isinstance(pattern, TypeClass):
            groups.setdefault(pattern, []).append(_scalar_or_literal(operand))
        elif isinstance(cls := getattr(pattern, "dtype", None), TypeClass):
            groups.setdefault(cls, []).append(_component_of(operand))
    out = {}
    for cls, given in groups.items():
        t = _common_type(given)
        if t is not None and t not in cls.members:
            t = join(t, _F32)  # an integer where floats are taken
        if t is None or t not in cls.members:
            return None
        out[cls.name] = t
    return out


def _component_of(operand: Operand) -> Scalar | None:
    """The scalar type of a composite value, or of the elements of an array of scalars."""
    t = operand.type if isinstance(operand, Value) else None
    like = None if t is None else array_like(t)
    if like is not None:
        return like.dtype if isinstance(like.dtype, Scalar) else None
    return None if t is None else composite_scalar(t)


def _scalar_or_literal(operand: Operand) -> Scalar | Literal | None:
    if isinstance(operand, Value):
        return operand.type if isinstance(operand.type, Scalar) else None
    return operand if isinstance(operand, Literal) else None


def _common_type(given: Sequence[Scalar | Literal | None]) -> Scalar | None:
    """Where types and literals meet; None where they do not, or one is neither."""
    typed = [x for x in given if isinstance(x, Scalar)]
    literals = [x for x in given if isinstance(x, Literal)]
    if len(typed) + len(literals) < len(given):
        return None
    t: Scalar | None = typed[0] if typed else literal_type(literals.pop(0).value)
    for other in typed[1:]:
        t = join(t, other) if t is not None else None
    for literal in literals:
        if t is not None and not fits(literal.value, t):
            t = join(t, literal_type(literal.value))
    return t


_F32 = literal_type(0.0)


def _fit(s: Session, pattern: Pattern, operand: Operand, known: dict[str, Any]) -> int | None:
    """Cost of giving ``operand`` to a parameter, None when it does not fit."""
    if pattern is Any:
        return 8
    if pattern is None:  # annotated with what is no type, such as Callable
        return 8 if isinstance(operand, Static) and callable(operand.object) else None
    if isinstance(pattern, TypeClass):
        t = known[pattern.name]
        own = (
            operand.type
            if isinstance(operand, Value)
            else literal_type(getattr(operand, "value", 0))
        )
        return 2 if own is t else 4
    if isinstance(operand, Literal):
        if not isinstance(pattern, Scalar) or not fits(operand.value, pattern):
            return None
        return 0 if literal_type(operand.value) is pattern else 1
    if not isinstance(operand, Value):
        return None
    t = operand.type
    if isinstance(t, Array) and t.space != "global":  # the body is inlined: any memory will do
        t = Array(t.dtype, t.ndim)
    if match_pattern(pattern, t, known):
        return 2 if is_generic(pattern) else 0
    if isinstance(pattern, Scalar) and isinstance(operand.type, Scalar):
        return 3 if can_widen(operand.type, pattern) else None
    return None


def _adapted(
    s: Session, node: ast.AST, pattern: Pattern, operand: Operand, known: Mapping[str, Any]
) -> Operand:
    if isinstance(pattern, TypeClass):
        pattern = known[pattern.name]
    if isinstance(operand, (Value, Literal)):
        if isinstance(pattern, Scalar):
            return widen(s, node, operand, pattern)
        return as_value(s, node, operand)
    return operand
