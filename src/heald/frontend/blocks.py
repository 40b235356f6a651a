"""Builtins for threads of a block that work together: places, shared arrays, barriers, exchange."""

from __future__ import annotations

from collections.abc import Callable

from heald.diagnostics import Note
from heald.frontend.calls import call_overloads, name_of
from heald.frontend.conversions import as_value
from heald.frontend.intrinsics import Arguments, element_type, intrinsic, static_shape
from heald.frontend.operands import Operand, Static, describe
from heald.frontend.session import Session
from heald.ir import MAX_RANK, Value
from heald.ir.core import Op
from heald.ops.threads import SCOPES, synchronises_block
from heald.types import Array, Scalar, b1, i32, i64, size_of

SHARED_BYTES = 48 * 1024
"""What the shared arrays of a kernel may take: as much as any GPU gives to a block unasked."""


# -- places ----------------------------------------------------------------------------------------


@intrinsic("block_dim")
def _block_dim(s: Session, arguments: Arguments) -> Operand:
    arguments.bind(s, (), 0)
    return s.op("block_dim")


@intrinsic("thread_index")
def _thread_index(s: Session, arguments: Arguments) -> Operand:
    arguments.bind(s, (), 0)
    return s.op("thread_index")


@intrinsic("block_index")
def _block_index(s: Session, arguments: Arguments) -> Operand:
    arguments.bind(s, (), 0)
    return s.op("block_index", type=s.options.index)


@intrinsic("block_threads")
def _block_threads(s: Session, arguments: Arguments) -> Operand:
    """Of the last block what the launch has left for it."""
    arguments.bind(s, (), 0)
    total = s.const(i64, 1)
    for axis in range(MAX_RANK):
        (extent,) = s.builder.emit("launch_dim", (), (i64,), axis=axis)
        total = s.op("imul", total, extent)
    size = s.op("sext", s.op("block_dim"), type=i64)
    first = s.op("imul", s.op("block_index", type=i64), size)
    left = s.op("smin", s.op("isub", total, first), size)
    return s.op("trunc", left, type=i32)


# -- shared memory and barriers --------------------------------------------------------------------


@intrinsic("shared_array")
def _shared_array(s: Session, arguments: Arguments) -> Operand:
    """``wp.shared_array(shape=256, dtype=float)``: one array for each block."""
    bound = arguments.bind(s, ("shape", "dtype", "sync"), 2)
    shape = static_shape(s, arguments, bound["shape"], "shared", SHARED_BYTES)
    dtype = element_type(s, arguments, bound["dtype"], "shared")
    value = Value(Array(dtype, len(shape), "shared", shape))
    attrs = {"sync": "auto"} if _is_automatic(s, arguments, bound.get("sync")) else {}
    s.shared.append(Op("alloc", (), (value,), attrs, span=s.builder.span))
    return value


def _is_automatic(s: Session, arguments: Arguments, operand: Operand | None) -> bool:
    if operand is None or (isinstance(operand, Static) and operand.object == "manual"):
        return False
    if isinstance(operand, Static) and operand.object == "auto":
        return True
    raise s.refuse(arguments.at(operand), "H0107", "sync is 'manual' or 'auto'")


def shared_ops(s: Session, body: tuple[Op, ...]) -> tuple[Op, ...]:
    """The allocations of the shared arrays that a kernel uses.

    Raises:
        Refused: they take too much (H0410).
    """
    used = {v for op in _walk(body) for v in op.operands}
    kept = tuple(op for op in s.shared if op.result in used)
    total = 0
    for op in kept:
        t = op.result.type
        assert isinstance(t, Array)
        total += size_of(t)
        if total > SHARED_BYTES:
            assert op.span is not None
            raise s.refuse(
                op.span,
                "H0410",
                f"the shared arrays of this kernel take {total:,} bytes",
                f"{size_of(t):,} bytes here",
                hint=f"a block has {SHARED_BYTES:,} bytes; use smaller blocks and arrays",
            )
    return kept


def _walk(ops: tuple[Op, ...]) -> list[Op]:
    inner = [o for op in ops for region in op.regions for o in _walk(region.ops)]
    return [*ops, *inner]


@intrinsic("block_sync")
def _block_sync(s: Session, arguments: Arguments) -> Operand:
    arguments.bind(s, (), 0)
    s.builder.emit("block_sync")
    return Static(None)


# -- exchange --------------------------------------------------------------------------------------


def _shuffle(name: str, mode: str, second: str) -> None:
    """``shuffle_down(x, delta)`` and the like; composites go component by component."""

    @intrinsic(name)
    def lower(s: Session, arguments: Arguments) -> Operand:
        bound = arguments.bind(s, ("x", second), 2)
        place = arguments.at(bound["x"])
        value = as_value(s, place, s.as_number(place, bound["x"]))
        at = arguments.at(bound[second])
        lane = as_value(s, at, s.as_number(at, bound[second]))
        if lane.type is not i32:
            what = f"the {second} of {arguments.callee} is an int32, not {describe(lane)}"
            raise s.refuse(at, "H0201", what)
        parts = []
        for part in s.builder.parts(value):
            if not isinstance(part.type, Scalar):
                raise s.refuse(place, "H0201", f"{describe(value)} cannot be shuffled")
            parts.append(_exchanged(s, part, lane, mode))
        return s.builder.compose(value.type, parts)


def _exchanged(s: Session, value: Value, lane: Value, mode: str) -> Value:
    if value.type is not b1:
        return s.op("shuffle", value, lane, mode=mode)
    number = s.op("select", value, s.const(i32, 1), s.const(i32, 0))
    return s.op("icmp", s.op("shuffle", number, lane, mode=mode), s.const(i32, 0), pred="ne")


_shuffle("shuffle_idx", "index", "lane")
_shuffle("shuffle_up", "up", "delta")
_shuffle("shuffle_down", "down", "delta")
_shuffle("shuffle_xor", "xor", "mask")


@intrinsic("ballot")
def _ballot(s: Session, arguments: Arguments) -> Operand:
    return s.op("vote", _condition(s, arguments, ("condition",)), mode="ballot")


def _vote(mode: str) -> Callable[[Session, Arguments], Operand]:
    def lower(s: Session, arguments: Arguments) -> Operand:
        names = ("condition", "scope")
        scope = scope_of(s, arguments, arguments.bind(s, names, 1).get("scope"), "warp")
        condition = _condition(s, arguments, names)
        if scope == "block":
            return s.op("vote", condition, mode=mode, scope=scope)
        return s.op("vote", condition, mode=mode)

    return lower


for _mode in ("any", "all"):
    intrinsic(_mode)(_vote(_mode))


def _condition(s: Session, arguments: Arguments, names: tuple[str, ...]) -> Value:
    operand = arguments.bind(s, names, 1)["condition"]
    place = arguments.at(operand)
    value = as_value(s, place, s.as_number(place, operand))
    if value.type is not b1:
        raise s.refuse(
            place,
            "H0201",
            f"{arguments.callee} takes a bool, not {describe(value)}",
            hint="compare it, as in x != 0",
        )
    return value


def scope_of(s: Session, arguments: Arguments, operand: Operand | None, default: str) -> str:
    """Which threads an operation is about, ``warp`` or ``block``."""
    if operand is None:
        return default
    if isinstance(operand, Static) and operand.object in SCOPES:
        return str(operand.object)
    raise s.refuse(arguments.at(operand), "H0107", "the scope is 'warp' or 'block'")


# -- computations of one warp ----------------------------------------------------------------------


@intrinsic("warp_map")
def _warp_map(s: Session, arguments: Arguments) -> Operand:
    """``warp_map(f, x, ...)``: a call of ``f`` in which only the lanes of a warp meet."""
    function, *rest = arguments.only_positional(s) or (Static(None),)
    functions = (
        getattr(function.object, "__heald_overloads__", None)
        if isinstance(function, Static)
        else None
    )
    if functions is None:
        raise s.refuse(
            arguments.at(function),
            "H0107",
            f"the first argument of {arguments.callee} is a function, not {describe(function)}",
            hint="decorate it with @wp.func",
        )
    assert isinstance(function, Static)
    shared, (depth, length) = len(s.shared), s.builder.mark()
    inner = Arguments(arguments.node, tuple(rest), {}, arguments.places[1:])
    result = call_overloads(s, inner, name_of(function.object), functions)
    made = s.builder.since((depth, length))
    meeting = next((op for op in _walk(made) if synchronises_block(op)), None)
    if meeting is None and len(s.shared) > shared:
        meeting = s.shared[shared]
    if meeting is not None:
        raise s.refuse(
            arguments.node,
            "H0102",
            f"'{name_of(function.object)}' is about a whole block, and wp.warp_map is for one warp",
            notes=() if meeting.span is None else (Note("here", meeting.span),),
            hint="call it directly, or use shuffles and scope='warp' in it",
        )
    return result
