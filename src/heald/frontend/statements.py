"""Statements: assignment, branches and their merges, exits."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heald.diagnostics import Diagnostic, Note
from heald.frontend.arithmetic import binary, sum_or_binary, symbol
from heald.frontend.calls import callee_of, evaluate, intrinsic_name
from heald.frontend.conversions import as_value, is_plain, join_types, widen
from heald.frontend.expressions import condition
from heald.frontend.indexing import extent_of
from heald.frontend.intrinsics import check_atomic, thread_indices
from heald.frontend.loops import for_statement, how_to_set, loop_values, while_statement
from heald.frontend.nesting import check_nesting
from heald.frontend.operands import (
    Binding,
    Entry,
    LeftAtRunTime,
    Literal,
    Operand,
    Refused,
    Retype,
    Several,
    Shape,
    Static,
    Target,
    Unset,
    describe,
    is_function,
)
from heald.frontend.places import (
    ElementRoot,
    Place,
    place_of,
    read_place,
    update_atomically,
    write_place,
)
from heald.frontend.returns import as_declared
from heald.frontend.scan import assigned_names, is_docstring
from heald.frontend.session import MAX_ERRORS, Session
from heald.ir import Op, Value
from heald.types import Array, Type, Vector, array_like, as_concrete, b1, describe_type

_ATOMIC = {"+": "add", "-": "sub", "&": "and", "|": "or", "^": "xor"}
_WHY_NOT = {
    ast.Try: "a kernel cannot catch exceptions; test the condition instead",
    ast.TryStar: "a kernel cannot catch exceptions; test the condition instead",
    ast.With: "a kernel has no context managers",
    ast.Global: "a kernel cannot rebind module variables; write the result to an array",
    ast.Nonlocal: "a kernel cannot rebind outer variables; write the result to an array",
    ast.FunctionDef: "define the function at module level and decorate it with @wp.func",
    ast.ClassDef: "define the struct at module level and decorate it with @wp.struct",
    ast.Raise: "a kernel cannot raise; use assert, or write a status to an array",
    ast.Delete: "locals of a kernel need no deletion",
    ast.Import: "import at module level",
    ast.ImportFrom: "import at module level",
    ast.Match: "use if and elif",
}


class TooManyErrors(Exception):
    """Enough mistakes were found to stop."""


def block(s: Session, statements: Sequence[ast.stmt]) -> bool:
    """Lower statements one by one; a mistake in one is reported and the next is lowered all the
    same."""
    for node in statements:
        mark, targets = s.builder.mark(), len(s.frame.targets)
        try:
            with s.at(node):
                if statement(s, node) is False:
                    return False
        except Refused as refused:
            s.report(refused)
            if len(s.errors) >= MAX_ERRORS and not s.open_loops:
                raise TooManyErrors from None
            s.builder.rollback(mark)
            del s.frame.targets[targets:]
            s.poison(assigned_names([node]))
            if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                return False
    return True


def statement(s: Session, node: ast.stmt) -> bool | None:
    """Lower one statement; False when control does not go on behind it."""
    match node:
        case ast.Pass():
            pass
        case ast.Expr():
            if not is_docstring(node):
                _evaluated(s, node.value)
        case ast.Assign():
            _assign(s, node)
        case ast.AnnAssign():
            _annotated(s, node)
        case ast.AugAssign():
            _augmented(s, node)
        case ast.If():
            check_nesting(s, node)
            return _if(s, node)
        case ast.For():
            check_nesting(s, node)
            return for_statement(s, node)
        case ast.While():
            check_nesting(s, node)
            return while_statement(s, node)
        case ast.Break() | ast.Continue():
            return _leave_loop(s, node)
        case ast.Return():
            return _return(s, node)
        case ast.Assert():
            _assert(s, node)
        case _:
            raise _no_statement(s, node)
    return None


def _evaluated(s: Session, node: ast.expr) -> None:
    """An expression as a statement, which is there for what a call does."""
    operand = s.expression(node)
    if is_function(operand):
        what = f"{describe(operand)} is named here and not called"
        plain = isinstance(node, (ast.Name, ast.Attribute))
        raise s.refuse(node, "H0107", what, hint=f"write {ast.unparse(node)}()" if plain else "")


def _no_statement(s: Session, node: ast.stmt) -> Refused:
    """A statement that kernels do not have; of one with a body only the keyword is underlined."""
    name = type(node).__name__
    spelled = {"FunctionDef": "def", "ClassDef": "class", "ImportFrom": "import", "Delete": "del"}
    spelled |= {"TryStar": "try", "AsyncFunctionDef": "async", "TypeAlias": "type"}
    keyword = spelled.get(name, name.lower())
    span = s.span(node)
    if span.end_line > span.line:
        span = replace(span, end_line=span.line, end_col=span.col + len(keyword))
    what = f"'{keyword}' is not part of the kernel language"
    return s.refuse(span, "H0101", what, hint=_WHY_NOT.get(type(node), ""))


# -- assignment ------------------------------------------------------------------------------------


def _assign(s: Session, node: ast.Assign) -> None:
    operand = _thread_index_tuple(s, node) or s.expression(node.value)
    for target in node.targets:
        assign(s, target, operand, node.value)


def _thread_index_tuple(s: Session, node: ast.Assign) -> Operand | None:
    """``i, j = wp.tid()``: the number of targets says how many dimensions are read."""
    target = node.targets[0]
    if not (isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call)):
        return None
    callee = callee_of(s, node.value)
    if callee is None or intrinsic_name(callee) != "tid":
        return None
    with s.at(node.value):
        return Several(thread_indices(s, target, len(target.elts)))


def assign(s: Session, target: ast.expr, operand: Operand, source: ast.expr) -> None:
    """Give ``operand``, the value of ``source``, to a target."""
    match target:
        case ast.Name():
            _bind_name(s, target, operand, source)
        case ast.Tuple() | ast.List():
            for element in target.elts:
                if isinstance(element, ast.Starred):
                    raise s.refuse(
                        element,
                        "H0109",
                        "a starred target is not part of the kernel language",
                        hint="give each value a name",
                    )
            items = unpack(s, target, operand, len(target.elts))
            sources = source.elts if isinstance(source, ast.Tuple) else [source] * len(items)
            for element, item, written in zip(target.elts, items, sources, strict=True):
                assign(s, element, item, written)
        case ast.Attribute() | ast.Subscript():
            place = place_of(s, target)
            if isinstance(place, Value):
                raise s.refuse(
                    target,
                    "H0109",
                    f"a whole {describe(place)} cannot be assigned in a kernel",
                    hint="give one index for each dimension, or loop over the elements",
                )
            write_place(s, target, place, operand, source)
        case _:
            raise AssertionError("Python has no other targets")


def unpack(s: Session, node: ast.AST, operand: Operand, count: int) -> tuple[Operand, ...]:
    """The items of a tuple, a shape or a vector, exactly ``count`` of them."""
    match operand:
        case Several(items):
            found: tuple[Operand, ...] = items
        case Value(type=Vector()):
            found = s.builder.parts(operand)
        case Shape(array) if (t := array_like(array.type)) is not None:
            found = tuple(extent_of(s, array, k) for k in range(t.ndim))
        case _:
            raise s.refuse(node, "H0206", f"{describe(operand)} cannot be unpacked")
    if len(found) != count:
        raise s.refuse(
            node,
            "H0206",
            f"{len(found)} value{'s' * (len(found) != 1)} for {count} target{'s' * (count != 1)}",
            "the counts must agree",
        )
    return found


def _bind_name(s: Session, target: ast.Name, operand: Operand, source: ast.AST) -> None:
    declared = s.frame.declared.get(target.id)
    if declared is not None:
        operand = widen(s, source, s.as_number(source, operand), declared)
    elif isinstance(operand, Literal):
        operand = as_value(s, source, operand)
    s.bind(target.id, operand, target)


def _annotated(s: Session, node: ast.AnnAssign) -> None:
    """``x: wp.float32 = 0.0`` declares the type of a local."""
    if not isinstance(node.target, ast.Name):
        raise s.refuse(node.target, "H0109", "only a local variable can be declared")
    t = as_concrete(evaluate(s, node.annotation, "H0207"))
    if t is None or isinstance(t, Array):
        raise s.refuse(
            node.annotation,
            "H0207",
            "a local is declared with a scalar, vector, matrix or struct type",
            hint="for example `x: wp.float32 = 0.0`",
        )
    s.frame.declared[node.target.id] = t
    if node.value is not None:
        _bind_name(s, node.target, s.expression(node.value), node.value)


def _augmented(s: Session, node: ast.AugAssign) -> None:
    op = symbol(node.op)
    if isinstance(node.target, ast.Name):
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        left = s.number(load)
        if not isinstance(left, Value) or array_like(left.type) is None:
            result = sum_or_binary(s, node, op, left, load, node.value)
            _bind_name(s, node.target, result, node)
            return
    place = place_of(s, node.target)
    if isinstance(place, Value):
        raise s.refuse(
            node.target,
            "H0109",
            f"a whole {describe(place)} cannot be updated in a kernel",
            hint="give one index for each dimension, or loop over the elements",
        )
    if not isinstance(place.root, ElementRoot):
        result = sum_or_binary(s, node, op, read_place(s, place), node.target, node.value)
        write_place(s, node.target, place, result, node)
        return
    _update_element(s, node, op, place, place.root)


def _update_element(
    s: Session, node: ast.AugAssign, op: str, place: Place, root: ElementRoot
) -> None:
    """An array element: atomic for ``+ - & | ^`` on shared memory, plain otherwise; never
    contracted."""
    array = root.array.type
    assert isinstance(array, Array)
    if op in _ATOMIC and array.space != "local":
        if place.dynamic:
            raise s.refuse(
                node,
                "H0109",
                f"{op}= on a component chosen at run time cannot be atomic",
                hint="write a[i][k] = a[i][k] + v where the element belongs to one thread",
            )
        check_atomic(s, node.target, _ATOMIC[op], place.type)
        value = widen(s, node.value, s.number(node.value), place.type)
        update_atomically(s, node, place, _ATOMIC[op], value)
        return
    left = read_place(s, place)
    write_place(s, node.target, place, binary(s, node, op, left, s.number(node.value)), node)


def _assert(s: Session, node: ast.Assert) -> None:
    test = condition(s, node.test)
    message = ast.unparse(node.test)
    if node.msg is not None:
        text = s.expression(node.msg)
        if not (isinstance(text, Static) and isinstance(text.object, str)):
            raise s.refuse(node.msg, "H0107", "the message of an assert is a string literal")
        message = text.object
    value = as_value(s, node.test, test)
    s.builder.emit("assert", (value,), (), (), message=message)


# -- branches --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Arm:
    env: dict[str, Entry]
    alive: bool
    ops: list[Op]


def _if(s: Session, node: ast.If) -> bool:
    test = condition(s, node.test)
    if isinstance(test, Literal):
        return s.block(node.body if test.value else node.orelse)
    before = s.frame.env
    arms = []
    for body in (node.body, node.orelse):
        s.frame.env = dict(before)
        s.builder.open()
        alive = s.block(body)
        arms.append(_Arm(s.frame.env, alive, s.builder.pop()))
    s.frame.env = dict(before)
    live = [arm for arm in arms if arm.alive]
    if len(live) == 2:
        _join_arms(s, node, test, arms)
        return True
    regions = []
    for arm in arms:
        s.builder.open([] if arm.alive else arm.ops)
        if arm.alive:
            s.builder.emit("yield")
        regions.append(s.builder.close())
    s.builder.emit("if", (test,), (), regions)
    if not live:
        s.builder.emit("unreachable")
        return False
    # The other arm leaves: whatever comes behind this branch runs after this arm, which therefore
    # stands behind it as well, where all its names can be seen.
    s.builder.extend(live[0].ops)
    s.frame.env = live[0].env
    return True


def _join_arms(s: Session, node: ast.If, test: Value, arms: Sequence[_Arm]) -> None:
    """Two arms that fall through, and the names that they set."""
    merged = _merge(s, node, arms)
    regions = []
    for arm in arms:
        s.builder.open(arm.ops)
        values = [_converted(s, node, arm.env[name], t) for name, t in merged]
        s.builder.emit("yield", values)
        regions.append(s.builder.close())
    results = s.builder.emit("if", (test,), [t for _, t in merged], regions)
    for (name, _), value in zip(merged, results, strict=True):
        entries = [arm.env[name] for arm in arms]
        s.names[value] = name
        s.frame.env[name] = Binding(value, next(e.span for e in entries if isinstance(e, Binding)))


def _converted(s: Session, node: ast.AST, entry: Entry, t: Type) -> Value:
    assert isinstance(entry, Binding)
    return widen(s, node, s.as_number(node, entry.operand), t)


def _merge(s: Session, node: ast.If, arms: Sequence[_Arm]) -> list[tuple[str, Type]]:
    """Names whose meaning differs between the arms, with the types they get.

    Names that cannot be merged become ``Unset``; that is an error only where they are read.
    """
    live = [arm.env for arm in arms]
    merged: list[tuple[str, Type]] = []
    for name in dict.fromkeys(name for env in live for name in env):
        entries = [env.get(name) for env in live]
        first_entry = entries[0]
        if first_entry is not None and all(e is first_entry for e in entries):
            s.frame.env[name] = first_entry
            continue
        unset = next((e for e in entries if isinstance(e, Unset)), None)
        if unset is not None:
            s.frame.env[name] = unset
            continue
        bindings = [e for e in entries if isinstance(e, Binding)]
        if len(bindings) < len(entries):
            s.frame.env[name] = Unset(_set_on_one_path(s, node, name, bindings[0]))
            continue
        first = bindings[0].operand
        if all(_same_operand(b.operand, first) for b in bindings):
            s.frame.env[name] = bindings[0]
            continue
        t = merged_type(bindings)
        if t is None:
            s.frame.env[name] = Unset(cannot_merge(name, bindings))
        else:
            merged.append((name, t))
    return merged


def _same_operand(a: Operand, b: Operand) -> bool:
    return a is b or (not isinstance(a, Value) and not isinstance(b, Value) and a == b)


def merged_type(bindings: Sequence[Binding]) -> Type | None:
    """The type in which all bindings of a name meet, or None."""
    t: Type | None = None
    for binding in bindings:
        operand = binding.operand
        if not isinstance(operand, Value) or not is_plain(operand.type):
            return None
        t = operand.type if t is None else join_types(t, operand.type)
        if t is None:
            return None
    return t


def cannot_merge(name: str, bindings: Sequence[Binding]) -> Diagnostic:
    """``cannot infer type of 'x'``, with every assignment underlined."""
    notes = tuple(Note(f"'{name}' is {describe(b.operand)} here", b.span) for b in bindings)
    arrays = any(isinstance(b.operand, Value) and not is_plain(b.operand.type) for b in bindings)
    known = any(not isinstance(b.operand, Value) for b in bindings)
    hint = f"give '{name}' one type on every path, for example by declaring it before the branch"
    if arrays:
        hint = (
            "an array cannot depend on a branch: choose an index, or use each array in its branch"
        )
    elif known:
        hint = "what is known while compiling cannot depend on a branch: use each in its branch"
    return Diagnostic(
        "H0204",
        f"cannot infer type of '{name}': its types on two paths do not merge",
        None,
        "",
        notes,
        hint,
    )


def _set_on_one_path(s: Session, node: ast.If, name: str, binding: Binding) -> Diagnostic:
    value = binding.operand
    span = s.span(node)
    notes = (
        Note(f"'{name}' is set here", binding.span),
        Note(
            "but not on the other path of this branch", s.frame.source.span(node.test, s.frame.call)
        ),
    )
    return Diagnostic(
        "H0302",
        f"'{name}' may be unset: it is set on one path only",
        None,
        "",
        notes,
        how_to_set(name, value, span.line),
    )


# -- exits -----------------------------------------------------------------------------------------


def _leave_loop(s: Session, node: ast.Break | ast.Continue) -> bool:
    target = s.frame.enclosing("loop", "unrolled")
    word = "break" if isinstance(node, ast.Break) else "continue"
    assert target is not None, "Python refuses an exit outside a loop"
    if s.builder.depth == target.depth and not target.parted:  # whoever unrolls it knows what to do
        target.left_by = word
        return False
    if target.going_on:
        target.parted = True
        if word == "break":
            s.frame.env[target.going_on] = Binding(s.const(b1, False), s.span(node))
        word = "break"
    elif target.kind == "unrolled" or (target.depth >= 0 and word == "continue"):
        raise LeftAtRunTime(target)
    s.builder.emit(word, loop_values(s, node, target))
    return False


def _return(s: Session, node: ast.Return) -> bool:
    target = s.frame.targets[0]
    if target.kind == "kernel":
        if node.value is not None:
            raise s.refuse(
                node,
                "H0105",
                "a kernel returns nothing",
                hint="write the result to an array",
            )
        s.builder.emit("return")
        return False
    operand: Operand = Several(()) if node.value is None else s.expression(node.value)
    operand = as_declared(s, node, operand)
    if operand == Static(None):
        operand = Several(())
    items = operand.items if isinstance(operand, Several) else (operand,)
    values = [as_value(s, node, s.as_number(node, item)) for item in items]
    s.builder.emit("return", _returned(s, node, target, values, isinstance(operand, Several)))
    return False


def _returned(
    s: Session, node: ast.Return, target: Target, values: list[Value], several: bool
) -> list[Value]:
    """The values of one return in the types that all returns of the function share."""
    for value in values:
        if not is_plain(value.type):
            raise s.refuse(
                node,
                "H0201",
                "an array can be returned only by the single return at the end of a function",
                describe(value),
            )
    count = len(values) if several else -1
    if target.types is None:
        target.types, target.returns = tuple(v.type for v in values), count
        target.first = s.span(node)
    earlier = (Note("an earlier return", target.first),)
    if target.returns != count:
        raise s.refuse(
            node,
            "H0105",
            "every return of a function gives the same number of values",
            notes=earlier,
        )
    joined = [join_types(t, v.type) for t, v in zip(target.types, values, strict=True)]
    if any(t is None for t in joined):
        raise s.refuse(
            node,
            "H0105",
            f"this returns {', '.join(describe(v) for v in values)}, an earlier return "
            f"{', '.join(map(describe_type, target.types))}; they do not merge",
            notes=earlier,
            hint="give what is returned one type on every path",
        )
    types = tuple(t for t in joined if t is not None)
    if types != target.types:
        raise Retype(target, types)
    return [widen(s, node, v, t) for v, t in zip(values, types, strict=True)]
