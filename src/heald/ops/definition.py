"""What a value op is: one record with everything that any consumer asks of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from heald.diagnostics import InternalError
from heald.ir import Builder, Effect, Op, Value
from heald.ir.structure import TypeRule
from heald.types import Scalar


class Emit(Protocol):
    """What ``lower`` may ask of a code generator.  The same code serves scalar and widened bodies.

    bfloat16 is ``i16`` (its bits) in LLVM, everywhere: as a type, in suffixes and in constants.
    Only the records compute on it, in float32 and integer code, so no target's own idea of bfloat16
    takes part.
    """

    def ins(self, text: str) -> str:
        """Append an instruction that yields a value; gives the name of the value."""

    def type(self, t: Scalar) -> str:
        """LLVM type of ``t`` at the current width: ``float`` or ``<8 x float>``."""

    def splat(self, t: Scalar, value: bool | int | float) -> str:
        """A constant of ``t`` at the current width."""

    def suffix(self, t: Scalar) -> str:
        """Overload suffix of intrinsics at the current width: ``f32`` or ``v8f32``."""

    def divide(self, how: str, t: Scalar, lhs: str, rhs: str) -> str:
        """``sdiv``, ``srem``, ``udiv`` or ``urem`` of operands for which it is defined."""

    def approximate(self, instruction: str, value: str, *operands: str) -> str:
        """An instruction of PTX on float32 operands, or ``value`` where the target is no GPU."""


class Smt(Protocol):
    """What ``smt`` may ask of a solver encoding; ``heald.proof`` has the implementations.

    Terms are opaque.  Method names are those of the ops and take ``(op, *terms)``, so an encoding
    states its own meaning of each one and refuses what it cannot express.
    """

    def __getattr__(self, name: str, /) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True)
class NoAdjoint:
    """Why no gradient flows through an op.

    With ``refuse`` a derivative exists that the op cannot give: a program whose gradient would pass
    through it must be refused.  Without it, no flow is the right answer.
    """

    why: str
    refuse: bool = False


@dataclass(frozen=True, slots=True)
class Handled:
    """Stands where a hook cannot be a function of operands: each consumer handles the op itself."""

    why: str

    def __call__(self, *_: object) -> NoReturn:
        """Raise InternalError: a consumer that comes here has forgotten the op."""
        raise InternalError(f"an op must be handled by its consumer: {self.why}")


Evaluate = Callable[..., Any]
Lower = Callable[..., str]
Encode = Callable[..., Any]
Adjoint = Callable[[Builder, Value, Op], tuple[Value | None, ...]]


@dataclass(frozen=True, slots=True)
class OpDef:
    """One value op.

    Attributes:
        name: lower case with class prefix.
        doc: the meaning in a sentence or two; the reference page shows it.
        arity: number of operands, or None when it varies.
        effects: PURE, FAULT, SYNC, PRINT ... as ``ir.Effect``.
        type_rule: ``(op) -> result types``, or a sentence saying why not.
        evaluate: ``(op, *arrays) -> array``: the reference meaning, whole-grid numpy on the
            carriers of ``heald.types`` (bfloat16 as uint16); numpy scalars give a numpy scalar.
            Never warns, never raises.
        lower: a template for one LLVM instruction, or ``(emit, op, *names) -> name``.  In a
            template ``{0} {1} {2}`` are operands, ``{T}`` the result type, ``{A}`` the type of the
            first operand, ``{C}`` of a condition, ``{S}`` and ``{AS}`` intrinsic suffixes of result
            and first operand, and any attribute by its name.  ``lowering.lower_op`` takes either.
        smt: ``(encoding, op, *terms) -> term``.
        adjoint: ``(builder, gradient of the result, op) -> gradient of each operand`` (None: no
            flow), built from plain ops, never contracted; or :class:`NoAdjoint`.  It is called for
            results of float type only, with an ``op`` whose operands and results can be read where
            the gradient is built.

    ``evaluate``, ``lower`` and ``smt`` are :class:`Handled` where the op is more than a function of
    its operands.
    """

    name: str
    doc: str
    arity: int | None
    effects: Effect
    type_rule: TypeRule
    evaluate: Evaluate
    lower: str | Lower
    smt: Encode
    adjoint: Adjoint | NoAdjoint


TABLE: dict[str, OpDef] = {}


def encoded_as(name: str) -> Encode:
    """The ``smt`` hook that asks the encoding for its own meaning of the op ``name``."""
    return lambda encoding, op, *terms: getattr(encoding, name)(op, *terms)


def define(record: OpDef) -> OpDef:
    """Enter a record into the table.

    Raises:
        ValueError: the name is taken.
    """
    if record.name in TABLE:
        raise ValueError(f"op {record.name} is defined twice")
    TABLE[record.name] = record
    return record
