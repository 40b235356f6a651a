"""Every record is whole, and the lists of exceptions are exactly these."""

from __future__ import annotations

import inspect
import pkgutil

import pytest
from unit.ops.cases import FUNCTIONS, cases

import heald.ops
from heald.diagnostics import InternalError
from heald.ir import OBLIGATIONS, STRUCTURAL, Effect
from heald.ops import TABLE, Handled, NoAdjoint, OpDef, define
from heald.types import SCALARS

NAMES = {
    "iadd",
    "isub",
    "imul",
    "ineg",
    "idiv",
    "irem",
    "udiv",
    "urem",
    "smin",
    "smax",
    "umin",
    "umax",
    "smulhi",
    "umulhi",
    "iand",
    "ior",
    "ixor",
    "inot",
    "shl",
    "lshr",
    "ashr",
    "popcount",
    "clz",
    "icmp",
    "fcmp",
    "select",
    "fadd",
    "fsub",
    "fmul",
    "fdiv",
    "fsqrt",
    "fma",
    "fneg",
    "fabs",
    "copysign",
    "fmin",
    "fmax",
    "floor",
    "ceil",
    "ftrunc",
    "rint",
    "sext",
    "zext",
    "trunc",
    "fpext",
    "fptrunc",
    "sitofp",
    "uitofp",
    "fptosi_sat",
    "fptoui_sat",
    "bitcast",
    "fexp2_approx",
    "flog2_approx",
    "fsin_approx",
    "fcos_approx",
    "ftanh_approx",
    "fsqrt_approx",
    "frsqrt_approx",
    "fdiv_approx",
    "block_dim",
    "thread_index",
    "block_index",
    "lane",
    "shuffle",
    "vote",
    "resource_array",
    "resource_scalar",
    "assert",
    "printf",
    "assume",
}

HANDLED = {
    "block_dim",
    "thread_index",
    "block_index",
    "lane",
    "shuffle",
    "vote",
    "resource_array",
    "resource_scalar",
    "assert",
    "printf",
    "assume",
}
"""Ops that are more than a function of their operands: every consumer handles them itself."""

EFFECTS = {
    "idiv": Effect.FAULT,
    "irem": Effect.FAULT,
    "udiv": Effect.FAULT,
    "urem": Effect.FAULT,
    "shuffle": Effect.SYNC,
    "vote": Effect.SYNC,
    "resource_array": Effect.READ | Effect.FAULT,
    "resource_scalar": Effect.READ | Effect.FAULT,
    "assert": Effect.FAULT,
    "printf": Effect.PRINT,
    "assume": Effect.FAULT,
}
"""Every other op is pure."""


def test_the_set_is_closed() -> None:
    assert set(TABLE) == NAMES
    assert not set(TABLE) & set(STRUCTURAL)


@pytest.mark.parametrize("name", TABLE)
def test_record_is_whole(name: str) -> None:
    record = TABLE[name]
    assert record.name == name
    assert record.doc.endswith(".")
    assert record.doc[0].isupper() or record.doc[0] == "`"
    assert record.effects == EFFECTS.get(name, Effect.PURE)
    if isinstance(record.adjoint, NoAdjoint):
        assert record.adjoint.why
    for hook in (record.evaluate, record.lower, record.smt):
        assert isinstance(hook, Handled) == (name in HANDLED)
        if isinstance(hook, Handled):
            with pytest.raises(InternalError, match=hook.why):
                hook()
    if isinstance(record.lower, str):
        assert record.arity is not None
        for k in range(4):
            assert (f"{{{k}}}" in record.lower) == (k < record.arity)


def test_every_module_is_imported() -> None:
    for module in pkgutil.iter_modules(heald.ops.__path__):
        assert inspect.ismodule(getattr(heald.ops, module.name))


def test_ops_that_fault_are_obligations() -> None:
    """`assume` faults only on paper: it must not move, and nobody checks it."""
    faulting = {n for n, r in TABLE.items() if Effect.FAULT in r.effects}
    assert faulting - {"assume"} == OBLIGATIONS & set(TABLE)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="iadd"):
        define(TABLE["iadd"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_stop_at_whole_numbers(name: str) -> None:
    """An op with float results either has an adjoint or refuses; one without needs neither."""
    record = TABLE[name]
    gives_float = any(case.target.is_float for case in cases(name))
    if name == "bitcast":
        assert isinstance(record.adjoint, NoAdjoint)
        assert record.adjoint.refuse
    else:
        assert callable(record.adjoint) == gives_float


def test_an_exchange_of_numbers_refuses_a_gradient() -> None:
    adjoint = TABLE["shuffle"].adjoint
    assert isinstance(adjoint, NoAdjoint)
    assert adjoint.refuse


def test_each_type_is_served() -> None:
    """Each scalar type but b1 can be added, compared, chosen, and reached from some other type."""
    for t in SCALARS[1:]:
        add, compare = ("fadd", "fcmp") if t.is_float else ("iadd", "icmp")
        assert any(case.target is t for case in cases(add))
        assert any(case.sources[0] is t for case in cases(compare))
        assert any(case.target is t for case in cases("select"))
        conversions = ("sext", "zext", "trunc", "fpext", "fptrunc", "sitofp", "fptosi_sat")
        conversions += ("uitofp", "fptoui_sat")
        assert any(case.target is t for name in conversions for case in cases(name))


def test_a_record_has_no_defaults() -> None:
    parameters = inspect.signature(OpDef).parameters.values()
    assert all(p.default is inspect.Parameter.empty for p in parameters)
