"""A wrong hook of any op does not go unnoticed.

For every op of the table: its meaning in numpy (``evaluate``) and its machine code (``lower``) are
put wrong, one at a time, and running a kernel of that op in both ways must then differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from meaning.running import Left, Mismatch, compare, execute, interpret
from unit.ops.cases import FUNCTIONS, Case, arguments, cases, operands

from heald.driver.compiler import lower_for_cpu
from heald.interp import ArrayView, Resource
from heald.ir import Builder, Kernel, Op, Value, check, parse
from heald.ops import TABLE, Handled
from heald.ops.lowering import expand
from heald.passes import guard
from heald.passes.meetings import shares_block
from heald.passes.rebuild import Rebuild
from heald.passes.split_phases import split_phases
from heald.runtime import ResourceArray, ResourceTable
from heald.types import Array, Scalar, b1, i32

pytestmark = pytest.mark.cpu

LANES = 48
CASES = 6
"""Type combinations of an op that are looked at; ``unit/ops`` looks at all of them."""

COMMUTE = frozenset(
    {"iadd", "imul", "iand", "ior", "ixor", "smin", "smax", "umin", "umax", "fadd", "fmul"}
    | {"smulhi", "umulhi"}
)
"""Ops whose operands may change places."""


# -- kernels of one op -----------------------------------------------------------------------------


def chosen(name: str) -> list[Case]:
    found = cases(name)
    step = max(1, len(found) // CASES)
    return list(found[::step][:CASES])


def kernel_of(name: str) -> tuple[Kernel, list[ArrayView]]:
    """A kernel that applies the op at several types, and its arguments."""
    builder = Builder(TABLE)
    builder.open()
    (i,) = builder.emit("tid", (), (i32,), axis=0)
    params: list[Value] = []
    args: list[ArrayView] = []

    def array(t: Scalar, values: Any) -> Value:
        params.append(Value(Array(t, 1)))
        args.append(ArrayView.from_numpy(values, t))
        return params[-1]

    for case in chosen(name):
        columns = [c[:LANES] for c in operands(case, 2 * LANES)]
        inputs = []
        for t, values in zip(case.sources, arguments(case, columns), strict=True):
            (x,) = builder.emit("load", (array(t, values.copy()), i), (t,))
            inputs.append(x)
        result = builder.op(name, *inputs, type=case.target, **case.op.attrs)
        out = array(case.target, np.zeros(LANES, case.target.carrier))
        builder.emit("store", (out, i, result))
    builder.emit("return")
    kernel = Kernel(name, tuple(params), builder.close(), rank=1)
    check(kernel, TABLE)
    return guard(kernel), args


def run_both(kernel: Kernel, args: Sequence[Any]) -> None:
    """Raise ``Mismatch`` where interpreter and machine code differ."""
    compare("compiled", interpret(kernel, (LANES,), args), execute(kernel, (LANES,), args))


def put(monkeypatch: pytest.MonkeyPatch, name: str, **hooks: Any) -> None:
    monkeypatch.setitem(TABLE, name, replace(TABLE[name], **hooks))


# -- wrong hooks -----------------------------------------------------------------------------------


def flipped(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """The lowest bit of every result is wrong."""

    def wrong(op: Op, *args: Any) -> Any:
        right = np.atleast_1d(np.asarray(evaluate(op, *args)))
        if right.dtype == bool:
            return ~right
        bits = right.view(f"u{right.itemsize}") ^ np.array(1, f"u{right.itemsize}")
        return bits.view(right.dtype)

    return wrong


def zero(emit: Any, op: Op, *names: str) -> str:
    """Code that gives zero."""
    t = op.results[0].type
    assert isinstance(t, Scalar)
    return str(emit.splat(t, False if t is b1 else 0))


def exchanged(name: str) -> Callable[..., str]:
    """Code whose operands are in another order."""
    lower = TABLE[name].lower

    def wrong(emit: Any, op: Op, *names: str) -> str:
        turned = (names[0], *names[:0:-1]) if name == "select" else names[::-1]
        if isinstance(lower, str):
            return emit.ins(expand(lower, emit, op, *turned))
        return lower(emit, op, *turned)

    return wrong


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_hook_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, args = kernel_of(name)
    run_both(kernel, args)
    mutants: list[dict[str, Any]] = [{"evaluate": flipped(TABLE[name].evaluate)}, {"lower": zero}]
    if TABLE[name].arity != 1 and name not in COMMUTE:
        mutants.append({"lower": exchanged(name)})
    for hooks in mutants:
        with monkeypatch.context() as patch:
            put(patch, name, **hooks)
            with pytest.raises(Mismatch):
                run_both(kernel, args)


NEIGHBOURS = {
    "iadd": "isub",
    "imul": "smulhi",
    "ineg": "inot",
    "smin": "umin",
    "smax": "smin",
    "umin": "smin",
    "umax": "smax",
    "smulhi": "umulhi",
    "umulhi": "smulhi",
    "iand": "ior",
    "ior": "ixor",
    "ixor": "ior",
    "lshr": "ashr",
    "ashr": "lshr",
    "idiv": "irem",
    "udiv": "urem",
    "fadd": "fsub",
    "fmul": "fdiv",
    "fmin": "fmax",
    "fabs": "fneg",
    "floor": "ftrunc",
    "ceil": "rint",
    "ftrunc": "floor",
    "rint": "floor",
    "sext": "zext",
    "zext": "sext",
    "popcount": "clz",
}
"""Ops that are easily taken for each other."""


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_code_of_a_neighbour_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, args = kernel_of(name)
    put(monkeypatch, name, lower=TABLE[NEIGHBOURS[name]].lower)
    with pytest.raises(Mismatch):
        run_both(kernel, args)


# -- ops that every consumer handles itself --------------------------------------------------------

HANDLE_KIND = 3


def resources() -> tuple[int, ResourceTable, dict[int, Resource], Any]:
    """A handle, the table of a device and that of the interpreter, and what must stay alive."""
    cells = np.arange(10, 10 + LANES, dtype=np.int32)
    table = ResourceTable()
    array = ResourceArray(cells.ctypes.data, LANES, 4, cells)
    other = ResourceArray(cells.ctypes.data + 4, LANES - 1, 4, cells)
    handle = table.register(HANDLE_KIND, (np.int32(7), np.int32(9)), (array, other))
    views = (ArrayView.from_numpy(cells), ArrayView.from_numpy(cells[1:]))
    return handle, table, {handle & 0xFFFFFFFF: Resource(handle, (7, 9), views)}, cells


def handled(line: str, *, result: str = "") -> Kernel:
    """A kernel around one line that may use ``%i``, ``%h``, ``%odd`` and gives ``%r`` if asked."""
    store = f"store %out, %i, {result}" if result else ""
    text = f"""kernel @handled<1>(%out: array<i32,1>, %h: u64) {{
  %i: i32 = tid [axis=0]
  %one: i32 = const [value=1]
  %low: i32 = iand %i, %one
  %odd: b1 = icmp %low, %one [pred="eq"]
  {line}
  {store}
  return
}}"""
    kernel = parse(text, TABLE)
    check(kernel, TABLE)
    return guard(kernel)


HANDLED: dict[str, tuple[Kernel, Callable[[Op], Op | None]]] = {}
"""A kernel of each op, and a way to put the op wrong (None leaves it out)."""


def renamed(name: str, **attrs: Any) -> Callable[[Op], Op]:
    def change(op: Op) -> Op:
        changed = MappingProxyType({**op.attrs, **attrs})
        return Op(name or op.name, op.operands, op.results, changed, op.regions, op.span)

    return change


for _name, _other in (
    ("block_dim", "thread_index"),
    ("thread_index", "lane"),
    ("block_index", "thread_index"),
    ("lane", "thread_index"),
):
    HANDLED[_name] = handled(f"%r: i32 = {_name}", result="%r"), renamed(_other)
HANDLED["resource_scalar"] = (
    handled(f"%r: i32 = resource_scalar %h [kind={HANDLE_KIND}, slot=0]", result="%r"),
    renamed("", slot=1),
)
HANDLED["resource_array"] = (
    handled(
        f"%a: array<i32,1> = resource_array %h [kind={HANDLE_KIND}, slot=0]\n%r: i32 = load %a, %i",
        result="%r",
    ),
    renamed("", slot=1),
)
HANDLED["assert"] = handled('assert %odd [message="odd"]'), lambda op: None
HANDLED["printf"] = handled('printf %i [text="%d", kinds="i32"]'), lambda op: None
HANDLED["assume"] = handled("assume %odd"), renamed("assert", message="", id=9, guard=True)

HANDLED["shuffle"] = (
    handled('%r: i32 = shuffle %i, %one [mode="xor"]', result="%r"),
    renamed("", mode="up"),
)
HANDLED["vote"] = (
    handled('%v: b1 = vote %odd [mode="any"]\n%r: i32 = select %v, %one, %low', result="%r"),
    renamed("", mode="all"),
)


def changed(kernel: Kernel, name: str, change: Callable[[Op], Op | None]) -> Kernel:
    rebuild = Rebuild(kernel)

    def visit(op: Op) -> None:
        new = change(op) if op.name == name else op
        if new is not None:
            rebuild.append(new)

    return rebuild.rebuilt(visit)


def runs(kernel: Kernel, compiled: Kernel) -> tuple[Left, Left]:
    handle, table, simulated, _keep = resources()
    args = [ArrayView.from_numpy(np.zeros(LANES, np.int32)), handle]
    left = interpret(kernel, (LANES,), args, block_dim=40, resources=simulated)
    lowered = lower_for_cpu(compiled)
    phases = split_phases(lowered) if shares_block(lowered) else None
    return left, execute(lowered, (LANES,), args, blocks=phases, block_dim=40, resources=table)


@pytest.mark.parametrize("name", HANDLED)
def test_an_op_put_wrong_in_one_consumer_shows(name: str) -> None:
    kernel, change = HANDLED[name]
    compare("compiled", *runs(kernel, kernel))
    wrong = changed(kernel, name, change)
    with pytest.raises(Mismatch):
        compare("compiled", *runs(kernel, wrong))
    with pytest.raises(Mismatch):
        compare("compiled", *runs(wrong, kernel))


def test_every_op_is_looked_at() -> None:
    assert set(FUNCTIONS) | set(HANDLED) == set(TABLE)
    assert {n for n, record in TABLE.items() if isinstance(record.evaluate, Handled)} == set(
        HANDLED
    )
