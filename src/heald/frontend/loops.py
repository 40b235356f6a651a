"""Loops: counted, endless and condition loops, query iteration, and loops unrolled at compile
time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from heald.diagnostics import Diagnostic, InternalError, Note
from heald.frontend.calls import call_builtin, callee_of, updated_names
from heald.frontend.conversions import as_value, convert, is_plain, join_types, widen
from heald.frontend.expressions import condition
from heald.frontend.operands import (
    Binding,
    Entry,
    LeftAtRunTime,
    Literal,
    Operand,
    Refused,
    Retype,
    Several,
    Static,
    Target,
    Unset,
    default_text,
    describe,
)
from heald.frontend.places import is_element
from heald.frontend.scan import assigned_names, has_break
from heald.frontend.session import Session
from heald.frontend.sources import parameters_of
from heald.ir import Effect, Region, Value, region_effects
from heald.types import Scalar, Type, as_type, b1, describe_type, i32, i64
from heald.types.promotion import index_type

_MAX_STATIC_TRIPS = 1024
_CONDITION_EFFECTS = Effect.WRITE | Effect.SYNC | Effect.PRINT | Effect.EXIT


def for_statement(s: Session, node: ast.For) -> bool:
    """``for`` over ``range``, over a query, or unrolled over ``wp.static(range(...))``."""
    if node.orelse:
        raise _no_else(s, node)
    callee = callee_of(s, node.iter) if isinstance(node.iter, ast.Call) else None
    if callee is range:
        assert isinstance(node.iter, ast.Call)
        return _for_range(s, node, node.iter)
    iterated = s.expression(node.iter)
    if isinstance(iterated, Static) and isinstance(iterated.object, range):
        iterated = Several(tuple(Literal(k) for k in iterated.object))
    if isinstance(iterated, Several):
        return _unrolled(s, node, iterated.items)
    if isinstance(iterated, Value) and _is_query(s, iterated.type):
        return _for_query(s, node, iterated)
    raise s.refuse(
        node.iter,
        "H0101",
        f"cannot iterate over {describe(iterated)}",
        hint="loops run over range(...), over a query such as wp.hash_grid_query(...), or over "
        "wp.static(range(...)) at compile time",
    )


def _no_else(s: Session, node: ast.For | ast.While) -> Refused:
    return s.refuse(
        node.orelse[0],
        "H0101",
        "'else' of a loop is not part of the kernel language",
        hint="set a flag before each break, and test it behind the loop",
    )


# -- the common frame of loops ---------------------------------------------------------------------


def _rebound(s: Session, parts: Sequence[ast.AST]) -> tuple[str, ...]:
    """Names to which these statements and expressions give another meaning."""
    return assigned_names(
        parts, lambda call: updated_names(s, call), lambda target: is_element(s, target)
    )


def _split(s: Session, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names that hold a value before the loop and are carried; names that hold something else."""
    carried: list[str] = []
    rest: list[str] = []
    for name in names:
        entry = s.frame.env.get(name)
        if not isinstance(entry, Binding):
            continue
        operand = entry.operand
        plain = isinstance(operand, Literal) or (
            isinstance(operand, Value) and is_plain(operand.type)
        )
        (carried if plain else rest).append(name)
    return tuple(carried), tuple(rest)


def _hide(s: Session, node: ast.For | ast.While, names: Sequence[str]) -> None:
    """What is no value cannot be carried from one iteration to the next: reading it is an error.

    Of use is only what an iteration assigns before it reads it.
    """
    for name in names:
        entry = s.frame.env[name]
        assert isinstance(entry, Binding)
        s.frame.env[name] = Unset(
            Diagnostic(
                "H0204",
                f"'{name}' changes in this loop, and {describe(entry.operand)} cannot be carried "
                "from one iteration to the next",
                None,
                "",
                (
                    Note("the loop", s.frame.source.span(_head(node), s.frame.call)),
                    Note(f"'{name}' is set here before the loop", entry.span),
                ),
                "use another name in the loop, or choose an index instead of an array",
            )
        )


def loop_values(s: Session, node: ast.AST, target: Target) -> list[Value]:
    """The carried values at a yield, break or continue; wider types make the loop start again.

    A name whose statement failed keeps its type, as wider types of others may mend the statement.

    Raises:
        Refused: no types are wider, and the mistake stays.
    """
    assert target.types is not None
    values: list[Value] = []
    types: list[Type] = []
    failed = False
    for name, t in zip(target.names, target.types, strict=True):
        entry = s.frame.env[name]
        if isinstance(entry, Unset):
            if entry.diagnostic is not None:
                raise _Uncarried(target, name, entry.diagnostic)
            failed = True
            types.append(t)
            continue
        operand = entry.operand
        if isinstance(operand, Literal):
            operand = as_value(s, node, operand)
        plain = isinstance(operand, Value) and is_plain(operand.type)
        joined = join_types(t, operand.type) if plain and isinstance(operand, Value) else None
        if joined is None or not isinstance(operand, Value):
            raise _Uncarried(target, name, _cannot_carry(name, t, entry))
        values.append(operand)
        types.append(joined)
    if tuple(types) != target.types:
        raise Retype(target, types)
    if failed:
        raise Refused(None)
    return [widen(s, node, v, t) for v, t in zip(values, types, strict=True)]


class _Uncarried(Exception):
    """What a name holds at the end of an iteration cannot meet what it held before: lower the loop
    again without carrying it.  That is a mistake only where the name is read, for ``why``."""

    def __init__(self, target: Target, name: str, why: Diagnostic) -> None:
        super().__init__("lower again")
        self.target = target
        self.name = name
        self.why = why


def _cannot_carry(name: str, t: Type, entry: Binding) -> Diagnostic:
    return Diagnostic(
        "H0204",
        f"cannot infer type of '{name}': it enters the loop as {describe_type(t)} and leaves an "
        f"iteration as {describe(entry.operand)}",
        None,
        "",
        (Note("assigned in the loop", entry.span),),
        f"give '{name}' one type before the loop",
    )


LowerLoop = Callable[[Target, list[Value]], tuple[Value, ...]]


def _loop(
    s: Session, node: ast.For | ast.While, lower: LowerLoop, extra: tuple[str, ...] = ()
) -> None:
    """Lower a loop until its carried types no longer grow (they only climb, so it ends)."""
    rebound = tuple(dict.fromkeys([*_rebound(s, node.body), *extra]))
    names, hidden = _split(s, rebound)
    inits = [_init(s, node, s.frame.env[name]) for name in names]
    _hide(s, node, hidden)
    before, mark, targets = dict(s.frame.env), s.builder.mark(), len(s.frame.targets)
    target = Target("loop", names, tuple(v.type for v in inits))
    declared, mistakes = dict(s.frame.declared), s.mistakes()
    while True:
        assert target.types is not None
        try:
            wide = [widen(s, node, v, t) for v, t in zip(inits, target.types, strict=True)]
            s.frame.env = dict(before)
            s.open_loops += 1  # what is a mistake now may be none of wider types
            try:
                results = lower(target, wide)
            finally:
                s.open_loops -= 1
            break
        except (Retype, _Uncarried) as again:
            if again.target is not target:
                raise
            if isinstance(again, Retype):
                target.types = again.types
            else:
                k = names.index(again.name)
                names, hidden = (*names[:k], *names[k + 1 :]), (*hidden, again.name)
                target.names, target.types = names, (*target.types[:k], *target.types[k + 1 :])
                del inits[k]
                before[again.name] = Unset(again.why)
            s.forget(mistakes)  # said of types that were too narrow
            s.builder.rollback(mark)
            s.frame.declared = dict(declared)
            del s.frame.targets[targets:]
    inside, s.frame.env = s.frame.env, dict(before)
    for name in rebound:
        if name not in names and name not in hidden and before.get(name) != Unset(None):
            held = _held(inside.get(name))
            s.frame.env[name] = Unset(_set_inside_only(s, node, name, held), held)
    for name, value in zip(names, results, strict=True):
        s.names[value] = name
        entry = before[name]
        s.frame.env[name] = Binding(value, entry.span if isinstance(entry, Binding) else None)


def _init(s: Session, node: ast.AST, entry: Entry) -> Value:
    assert isinstance(entry, Binding)
    assert isinstance(entry.operand, (Value, Literal))
    return as_value(s, node, entry.operand)


def _held(entry: Entry | None) -> Operand | None:
    """What a name holds at the end of a loop's body, or held in a loop inside."""
    return entry.operand if isinstance(entry, Binding) else entry.held if entry else None


def _set_inside_only(
    s: Session, node: ast.For | ast.While, name: str, operand: Operand | None
) -> Diagnostic:
    head = _head(node)
    endless = isinstance(head, ast.Constant) and bool(head.value)
    why = "" if endless else ", which may run zero times"
    return Diagnostic(
        "H0302",
        f"'{name}' may be unset: it is set only inside this loop{why}",
        None,
        "",
        (Note("the loop", s.frame.source.span(head, s.frame.call)),),
        how_to_set(name, operand, s.span(node).line),
    )


def how_to_set(name: str, operand: Operand | None, line: int) -> str:
    """The hint for a name that is set on some paths only."""
    if isinstance(operand, Value) and not is_plain(operand.type):
        return f"use '{name}' where it is set: an array cannot depend on the path taken"
    start = default_text(operand.type) if isinstance(operand, Value) else "..."
    return f"insert `{name} = {start}` before line {line}"


def _head(node: ast.For | ast.While) -> ast.expr:
    return node.iter if isinstance(node, ast.For) else node.test


def _body(
    s: Session,
    node: ast.For | ast.While,
    target: Target,
    args: Sequence[Value],
    body: Sequence[ast.stmt],
) -> Region:
    """The body region; its terminator is the next iteration."""
    s.builder.open()
    s.frame.targets.append(target)
    if s.block(body):
        s.builder.emit("yield", loop_values(s, node, target))
    s.frame.targets.pop()
    return s.builder.close(args)


def _arguments(s: Session, target: Target) -> list[Value]:
    assert target.types is not None
    args = [Value(t) for t in target.types]
    for name, value in zip(target.names, args, strict=True):
        s.names[value] = name
        old = s.frame.env[name]
        s.frame.env[name] = Binding(value, old.span if isinstance(old, Binding) else None)
    return args


# -- range -----------------------------------------------------------------------------------------


def _for_range(s: Session, node: ast.For, call: ast.Call) -> bool:
    name = _loop_name(s, node)
    lo, hi, step = _range_bounds(s, call)

    def lower(target: Target, inits: list[Value]) -> tuple[Value, ...]:
        args = _arguments(s, target)
        iv = Value(lo.type)
        s.names[iv] = name
        s.frame.env[name] = Binding(iv, s.span(node.target))
        region = _body(s, node, target, (iv, *args), node.body)
        assert target.types is not None
        return s.builder.emit("for", (lo, hi, step, *inits), target.types, (region,))

    if not isinstance(s.frame.env.get(name), Binding) and _runs_once(s, lo, hi, step):
        s.bind(name, lo, node.target)
    _loop(s, node, lower, (name,))
    return True


def _loop_name(s: Session, node: ast.For) -> str:
    if not isinstance(node.target, ast.Name):
        raise s.refuse(node.target, "H0109", "the loop variable is a single name")
    return node.target.id


def _runs_once(s: Session, lo: Value, hi: Value, step: Value) -> bool:
    known = [k for v in (lo, hi, step) if (k := s.static_int(v)) is not None]
    return len(known) == 3 and known[2] != 0 and bool(range(*known))


def _range_bounds(s: Session, call: ast.Call) -> tuple[Value, Value, Value]:
    """Bounds in one index type; ``range`` takes the widest type of its bounds."""
    if call.keywords or not 1 <= len(call.args) <= 3:
        raise s.refuse(call, "H0305", "range takes one to three numbers")
    given: list[tuple[ast.AST, Value | Literal]] = [(a, s.number(a)) for a in call.args]
    if len(given) == 1:
        given = [(call, Literal(0)), *given]
    if len(given) == 2:
        given.append((call, Literal(1)))
    t: Scalar = i32
    for place, operand in given:
        own = s.type_of(operand)
        if isinstance(operand, Literal):
            if isinstance(operand.value, bool) or not isinstance(operand.value, int):
                raise _not_integer(s, place, operand)
            own = i32 if i32.lowest <= operand.value <= i32.highest else i64
        index = index_type(own) if isinstance(own, Scalar) else None
        if index is None:
            raise _not_integer(s, place, operand)
        t = i64 if index is i64 else t
    lo, hi, step = (convert(s, place, operand, t) for place, operand in given)
    return lo, hi, step


def _not_integer(s: Session, node: ast.AST, operand: Value | Literal) -> Refused:
    return s.refuse(
        node,
        "H0201",
        f"range takes integers, not {describe(operand)}",
        hint="write int(...) around it",
    )


# -- while -----------------------------------------------------------------------------------------


def while_statement(s: Session, node: ast.While) -> bool:
    """``while``; a condition that writes memory or rebinds a name becomes an endless loop that
    breaks."""
    if node.orelse:
        raise _no_else(s, node)

    updated = _rebound(s, [node.test])

    def lower(target: Target, inits: list[Value]) -> tuple[Value, ...]:
        assert target.types is not None
        outer = dict(s.frame.env)
        cond_args = _arguments(s, target)
        s.builder.open()
        test = as_value(s, node.test, condition(s, node.test))
        s.builder.emit("yield", (test,))
        cond = s.builder.close(cond_args)
        s.frame.env = dict(outer)
        args = _arguments(s, target)
        if not updated and not region_effects(cond, s.builder.table) & _CONDITION_EFFECTS:
            body = _body(s, node, target, args, node.body)
        else:
            cond = _always(s, target)
            body = _tested_body(s, node, target, args)
        return s.builder.emit("while", inits, target.types, (cond, body))

    _loop(s, node, lower, updated)
    return _is_left(s, node) or _give_zeros(s)


def _is_left(s: Session, node: ast.While) -> bool:
    """Does control go on behind a loop, other than that of a thread that faulted?"""
    return not (isinstance(node.test, ast.Constant) and node.test.value) or has_break(node.body)


def _give_zeros(s: Session) -> bool:
    """Leave the function behind a loop without end: only threads that faulted come here, since
    they leave all loops.  True where there is no function to leave."""
    target = s.frame.targets[0]
    if target.kind != "scope" or target.types is None:
        return True
    s.builder.emit("return", [s.builder.zero(t) for t in target.types])
    return False


def _always(s: Session, target: Target) -> Region:
    assert target.types is not None
    s.builder.open()
    s.builder.emit("yield", (s.const(b1, True),))
    return s.builder.close([Value(t) for t in target.types])


def _tested_body(s: Session, node: ast.While, target: Target, args: list[Value]) -> Region:
    s.builder.open()
    s.frame.targets.append(target)
    test = as_value(s, node.test, condition(s, node.test))
    _break_unless(s, node, target, test)
    if s.block(node.body):
        s.builder.emit("yield", loop_values(s, node, target))
    s.frame.targets.pop()
    return s.builder.close(args)


def _break_unless(s: Session, node: ast.AST, target: Target, test: Value) -> None:
    regions = []
    for leaves_loop in (False, True):
        s.builder.open()
        if leaves_loop:
            s.builder.emit("break", loop_values(s, node, target))
        else:
            s.builder.emit("yield")
        regions.append(s.builder.close())
    s.builder.emit("if", (test,), (), regions)


# -- queries ---------------------------------------------------------------------------------------


def _is_query(s: Session, t: Type) -> bool:
    """Does the library iterate over values of this type?"""
    builtin = s.resolver("iterate")
    functions = builtin.__heald_overloads__ if builtin is not None else ()
    return any(as_type(parameters_of(f)[0].annotation) is t for f in functions)


def _for_query(s: Session, node: ast.For, query: Value) -> bool:
    """``for j in query``: stretch by stretch, and in each a counted loop over its elements.

    The library's ``stretches(state) -> (state, ok, list, first, end)`` gives them until it is not
    ok.  A ``break`` has to leave both loops, so with one it is a single loop: ``iterate(state) ->
    (state, ok, value)`` until it is not ok.
    """
    name = _loop_name(s, node)
    hidden = f"<query at {node.lineno}:{node.col_offset}>"
    s.frame.env[hidden] = Binding(query, s.span(node.iter))
    single = has_break(node.body)

    def lower(target: Target, inits: list[Value]) -> tuple[Value, ...]:
        assert target.types is not None
        args = _arguments(s, target)
        s.builder.open()
        s.frame.targets.append(target)
        step = "iterate" if single else "stretches"
        more, *found = _asked(s, node, hidden, step)
        with s.at(node.iter):
            _break_unless(s, node, target, as_value(s, node, s.as_number(node, more)))
        if single:
            s.bind(name, found[0], node.target)
            goes_on = s.block(node.body)
        else:
            goes_on = _for_stretch(s, node, name, found)
        if goes_on:
            s.builder.emit("yield", loop_values(s, node, target))
        s.frame.targets.pop()
        body = s.builder.close(args)
        return s.builder.emit("while", inits, target.types, (_always(s, target), body))

    _loop(s, node, lower, (name, hidden))
    del s.frame.env[hidden]
    return True


def _asked(s: Session, node: ast.For, hidden: str, step: str) -> tuple[Operand, ...]:
    """What a step of a query gives behind its new state."""
    entry = s.frame.env[hidden]
    assert isinstance(entry, Binding)
    with s.at(node.iter):
        stepped = call_builtin(s, node.iter, step, (entry.operand,))
    assert isinstance(stepped, Several)
    state, *rest = stepped.items
    s.frame.env[hidden] = Binding(state, None)
    return tuple(rest)


def _for_stretch(s: Session, node: ast.For, name: str, found: Sequence[Operand]) -> bool:
    """The loop over the elements of a stretch of a list."""
    places, *bounds = found
    assert isinstance(places, Value)
    lo, hi = (as_value(s, node.iter, s.as_number(node.iter, bound)) for bound in bounds)

    def lower(target: Target, inits: list[Value]) -> tuple[Value, ...]:
        args = _arguments(s, target)
        place = Value(lo.type)
        s.builder.open()
        s.frame.targets.append(target)
        with s.at(node.iter):
            value = s.builder.emit("load", (places, place), (i32,))[0]
        s.bind(name, value, node.target)
        if s.block(node.body):
            s.builder.emit("yield", loop_values(s, node, target))
        s.frame.targets.pop()
        region = s.builder.close((place, *args))
        assert target.types is not None
        bounds_and_step = (lo, hi, s.const(i32, 1))
        return s.builder.emit("for", (*bounds_and_step, *inits), target.types, (region,))

    _loop(s, node, lower, (name,))
    return True


# -- unrolled --------------------------------------------------------------------------------------


def _unrolled(s: Session, node: ast.For, items: Sequence[Operand]) -> bool:
    """Each item in turn, known at compile time."""
    if len(items) > _MAX_STATIC_TRIPS:
        raise s.refuse(
            node.iter,
            "H0101",
            f"{len(items)} iterations are too many to unroll; the limit is {_MAX_STATIC_TRIPS}",
            hint="loop over range(...) without wp.static",
        )
    name = _loop_name(s, node)
    env, mark, targets = dict(s.frame.env), s.builder.mark(), len(s.frame.targets)
    declared, mistakes = dict(s.frame.declared), s.mistakes()
    for way in (_spread_out, _spread_in_one, _spread_apart):
        target = Target("unrolled", depth=s.builder.depth)
        try:
            return way(s, node, name, items, target)
        except LeftAtRunTime as left:
            if left.target is not target:
                raise
        s.frame.env, s.frame.declared = dict(env), dict(declared)
        s.forget(mistakes)
        del s.frame.targets[targets:]
        s.builder.rollback(mark)
    raise InternalError("an unrolled loop that cannot be left")


def _spread_out(
    s: Session, node: ast.For, name: str, items: Sequence[Operand], target: Target
) -> bool:
    """The body for each item, one behind the other; False when control does not go on behind the
    last."""
    s.frame.targets.append(target)
    alive = True
    for item in items:
        s.frame.env[name] = Binding(item, s.span(node.target))
        target.left_by = ""
        alive = s.block(node.body) or target.left_by == "continue"
        if not alive:
            break
    s.frame.targets.pop()
    return alive or target.left_by == "break"


def _spread_in_one(
    s: Session, node: ast.For, name: str, items: Sequence[Operand], target: Target
) -> bool:
    """The same in a loop of one iteration: ``break`` leaves it."""

    def fill(own: Target) -> bool:
        try:
            return _spread_out(s, node, name, items, own)
        except LeftAtRunTime as left:
            raise LeftAtRunTime(target) if left.target is own else left from None

    _once(s, node, (name,), fill)
    return True


def _spread_apart(
    s: Session, node: ast.For, name: str, items: Sequence[Operand], target: Target
) -> bool:
    """The same, each item in a loop of one iteration of its own: ``continue`` leaves that.

    ``break`` leaves it, too, having noted that none is to follow.
    """
    breaks, going_on = has_break(node.body), f"<going on at {node.lineno}:{node.col_offset}>"
    s.frame.env[going_on] = Binding(s.const(b1, True), None)

    def fill(whole: Target) -> bool:
        for item in items:
            if not _iteration(s, node, name, item, going_on):
                break
            if breaks:
                entry = s.frame.env[going_on]
                assert isinstance(entry, Binding)
                _break_unless(s, node, whole, as_value(s, node, s.as_number(node, entry.operand)))
        return True

    if breaks:
        _once(s, node, (name, going_on), fill)
    else:
        fill(target)
    del s.frame.env[going_on]
    return True


def _iteration(s: Session, node: ast.For, name: str, item: Operand, going_on: str) -> bool:
    """One item in a loop of one iteration; False where it is known that none follows."""
    left_by = ""

    def fill(own: Target) -> bool:
        nonlocal left_by
        own.going_on, own.left_by, own.parted = going_on, "", False
        s.frame.env[name] = Binding(item, s.span(node.target))
        s.frame.targets.append(own)
        alive = s.block(node.body)
        s.frame.targets.pop()
        left_by = own.left_by
        return alive or bool(left_by)

    _once(s, node, (name, going_on), fill)
    return left_by != "break"


def _once(
    s: Session, node: ast.For, names: tuple[str, ...], fill: Callable[[Target], bool]
) -> None:
    """A loop of one iteration; ``fill`` writes it, and says whether control reaches its end."""

    def lower(target: Target, inits: list[Value]) -> tuple[Value, ...]:
        args = _arguments(s, target)
        s.builder.open()
        target.depth = s.builder.depth
        if fill(target):
            s.builder.emit("yield", loop_values(s, node, target))
        assert target.types is not None
        region = s.builder.close((Value(i32), *args))
        bounds = [s.const(i32, k) for k in (0, 1, 1)]
        return s.builder.emit("for", (*bounds, *inits), target.types, (region,))

    _loop(s, node, lower, names)
