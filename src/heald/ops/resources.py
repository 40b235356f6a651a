"""Reading the resources (hash grids, meshes, trees) that a handle names.

Their contents change between launches only, so equal reads may be joined; a bad handle is a fault.
"""

from __future__ import annotations

from heald.artifact.abi import RESOURCE_ARRAY_COUNT, RESOURCE_SCALAR_COUNT
from heald.ir import Effect, Op
from heald.ops.definition import Handled, NoAdjoint, OpDef, define
from heald.ops.rules import Answer, count_refusal
from heald.types import Array, Scalar, u64

_TABLE_READ = Handled("the result comes from the resource table of the launch")
_KINDS = 256  # the kind is the top byte of a handle; 0 names no resource


def _read_refusal(op: Op, slots: int) -> str:
    refusal = count_refusal(op, 1)
    if refusal:
        return refusal
    handle = op.operands[0].type
    if handle is not u64:
        return f"takes a u64 handle, not {handle}"
    kind, slot = op.attrs.get("kind"), op.attrs.get("slot")
    if type(kind) is not int or not 0 < kind < _KINDS:
        return f"needs a kind from 1 to {_KINDS - 1}, not {kind!r}"
    if type(slot) is not int or not 0 <= slot < slots:
        return f"needs a slot from 0 to {slots - 1}, not {slot!r}"
    return "" if len(op.results) == 1 else "needs a declared result type"


def _array(op: Op) -> Answer:
    refusal = _read_refusal(op, RESOURCE_ARRAY_COUNT)
    if refusal:
        return refusal
    declared = op.results[0].type
    if isinstance(declared, Array) and declared.ndim == 1 and declared.space == "global":
        return (declared,)
    return f"gives a global array of rank 1, not {declared}"


def _scalar(op: Op) -> Answer:
    refusal = _read_refusal(op, RESOURCE_SCALAR_COUNT)
    if refusal:
        return refusal
    declared = op.results[0].type
    return (declared,) if isinstance(declared, Scalar) else f"gives a scalar, not {declared}"


for _name, _doc, _rule in (
    (
        "resource_array",
        (
            "The array in a `slot` of the resource that the handle names, which must be of "
            "`kind`.  A bad handle is a fault and gives an array of extent 0."
        ),
        _array,
    ),
    (
        "resource_scalar",
        (
            "The number in a `slot` of the resource that the handle names, which must be of "
            "`kind`.  A bad handle is a fault and gives 0."
        ),
        _scalar,
    ),
):
    define(
        OpDef(
            name=_name,
            doc=_doc,
            arity=1,
            effects=Effect.READ | Effect.FAULT,
            type_rule=_rule,
            evaluate=_TABLE_READ,
            lower=_TABLE_READ,
            smt=_TABLE_READ,
            adjoint=NoAdjoint("the contents of a resource do not depend on the launch"),
        )
    )
