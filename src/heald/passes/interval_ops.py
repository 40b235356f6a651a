"""What each op on integers tells the interval analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heald.artifact import Symbol
from heald.artifact.abi import MAX_BLOCK_DIM
from heald.ir import Op
from heald.passes.interval_state import State, integer_type
from heald.passes.interval_terms import Case, Linear, constant, of
from heald.types import Array, Scalar, b1

Transfer = Callable[[State, Op], None]


def transfer(state: State, op: Op) -> None:
    """Note what an op without regions computes; the operands of an unknown one tell nothing."""
    if not op.results:
        return
    state.made[op.results[0]] = op
    if op.name == "const":
        _const(state, op)
        return
    if integer_type(op.results[0]) is None and op.name not in ("extract", "subview"):
        return
    rule = _TRANSFERS.get(op.name)
    if rule is None:
        state.set_opaque(op.results[0])
    else:
        rule(state, op)


def _const(state: State, op: Op) -> None:
    number = op.attrs["value"]
    if isinstance(number, int):
        state.constants[op.result] = number
        if integer_type(op.result) is not None:
            state.set_term(op.result, constant(number))


# -- launch and arrays -----------------------------------------------------------------------------


def _axis(op: Op) -> int:
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return axis


def _launch_extent(state: State, axis: int) -> Linear:
    """An extent of the launch; where a thread runs, none is 0."""
    return state.symbol(Symbol("dim", axis=axis), 1, state.limit)


def _tid(state: State, op: Op) -> None:
    extent = _launch_extent(state, _axis(op))
    atom = state.set_opaque(op.result, 0, state.limit - 1)
    state.facts.add(extent - of(atom) - 1)


def _launch_dim(state: State, op: Op) -> None:
    state.set_term(op.result, _launch_extent(state, _axis(op)))


def _dim(state: State, op: Op) -> None:
    state.set_term(op.result, state.extent(op.operands[0], _axis(op)))


def _extract(state: State, op: Op) -> None:
    """A leaf of a parameter is known at launch."""
    number = state.parameter_number(op.operands[0])
    leaf = op.attrs["leaf"]
    assert isinstance(leaf, int)
    value = op.result
    if isinstance(value.type, Array):
        state.aliases[value] = value if number is None else (number, leaf)
    elif integer_type(value) is not None:
        state.set_opaque(value)
        if number is not None:
            state.enter_parameter(value, number, leaf, value.type)


def _non_negative(state: State, op: Op) -> None:
    state.set_opaque(op.result, 0)


def _up_to(low: int, high: int) -> Transfer:
    def rule(state: State, op: Op) -> None:
        state.set_opaque(op.result, low, high)

    return rule


def _bit_count(state: State, op: Op) -> None:
    t = integer_type(op.operands[0])
    assert t is not None
    state.set_opaque(op.result, 0, t.bits)


# -- sums and products -----------------------------------------------------------------------------


def _iadd(state: State, op: Op) -> None:
    lhs, rhs = map(state.residue, op.operands)
    state.set_residue(op.result, lhs + rhs)


def _isub(state: State, op: Op) -> None:
    lhs, rhs = map(state.residue, op.operands)
    state.set_residue(op.result, lhs - rhs)


def _ineg(state: State, op: Op) -> None:
    state.set_residue(op.result, -state.residue(op.operands[0]))


def _inot(state: State, op: Op) -> None:
    """Two's complement: flipping all bits of x gives -1 - x."""
    state.set_residue(op.result, constant(-1) - state.residue(op.operands[0]))


def _imul(state: State, op: Op) -> None:
    lhs, rhs = map(state.residue, op.operands)
    if not lhs.terms:
        lhs, rhs = rhs, lhs
    if not rhs.terms:
        state.set_residue(op.result, lhs.times(rhs.constant))
        return
    lhs, rhs = map(state.term, op.operands)
    corners = [
        a * b
        for a in (state.facts.low(lhs), state.facts.high(lhs))
        for b in (state.facts.low(rhs), state.facts.high(rhs))
    ]
    t = integer_type(op.result)
    assert t is not None
    if t.lowest <= min(corners) and max(corners) <= t.highest:
        state.set_opaque(op.result, min(corners), max(corners))
    else:
        state.set_opaque(op.result)


def _shl(state: State, op: Op) -> None:
    count = _shift_count(state, op)
    if count is None:
        state.set_opaque(op.result)
    else:
        state.set_residue(op.result, state.residue(op.operands[0]).times(1 << count))


# -- division --------------------------------------------------------------------------------------


def _shift_count(state: State, op: Op) -> int | None:
    t = integer_type(op.result)
    count = state.constant_of(op.operands[1])
    return None if count is None or t is None else int(count) % t.bits


def _floor(state: State, term: Linear, divisor: int) -> Linear:
    """``term`` divided by a positive number and rounded down."""
    if not term.terms:
        return constant(term.constant // divisor)
    low, high = state.facts.low(term) // divisor, state.facts.high(term) // divisor
    # The range of an atom must hold wherever the quotient is formed, not only here.
    wide = term.low // divisor, term.high // divisor
    quotient = of(state.quotient(term, divisor, *wide))
    state.facts.add(term - quotient.times(divisor))
    state.facts.add(quotient.times(divisor) + (divisor - 1) - term)
    if low > wide[0]:
        state.facts.add(quotient - low)
    if high < wide[1]:
        state.facts.add(constant(high) - quotient)
    return quotient


def _ashr(state: State, op: Op) -> None:
    _shift_right(state, op, signed=True)


def _lshr(state: State, op: Op) -> None:
    _shift_right(state, op, signed=False)


def _shift_right(state: State, op: Op, *, signed: bool) -> None:
    t = integer_type(op.result)
    assert t is not None
    term = state.term(op.operands[0])
    count = _shift_count(state, op)
    positive = state.facts.prove(term)
    native = (t.kind == "i") == signed or (positive and t.kind == "i")
    if native and count is not None:
        state.set_term(op.result, _floor(state, term, 1 << count))
    elif native and positive:
        _below(state, op, term)
    elif count and not signed:
        state.set_opaque(op.result, 0, (1 << (t.bits - count)) - 1)  # zeros come in
    else:
        state.set_opaque(op.result)


def _below(state: State, op: Op, term: Linear) -> None:
    """The result is at least 0 and at most ``term``."""
    atom = state.set_opaque(op.result, 0, max(0, state.facts.high(term)))
    state.facts.add(term - of(atom))


def _divide(state: State, op: Op) -> None:
    """Truncated and unsigned division; a divisor of 0 gives 0."""
    term, divisor = map(state.term, op.operands)
    positive = state.facts.prove(term)
    if not divisor.terms and divisor.constant > 0:
        if positive:
            state.set_term(op.result, _floor(state, term, divisor.constant))
        else:
            _truncate(state, op, term, divisor.constant)
    elif positive and state.facts.prove(divisor):
        _below(state, op, term)
    else:
        state.set_opaque(op.result)


def _truncate(state: State, op: Op, term: Linear, divisor: int) -> None:
    """A quotient rounded towards zero lies less than 1 from the exact one."""
    low, high = state.facts.low(term), state.facts.high(term)
    atom = state.set_opaque(op.result, min(0, -(-low // divisor)), max(0, high // divisor))
    scaled = of(atom).times(divisor)
    state.facts.add(scaled + (divisor - 1) - term)
    state.facts.add(term + (divisor - 1) - scaled)


def _remainder(state: State, op: Op) -> None:
    """Remainder of a truncated or unsigned division; a divisor of 0 gives 0."""
    term, divisor = map(state.term, op.operands)
    facts = state.facts
    positive = facts.prove(term)
    if not divisor.terms and divisor.constant:
        size = abs(divisor.constant)
        if positive:
            state.set_term(op.result, term - _floor(state, term, size).times(size))
        else:
            low, high = facts.low(term), facts.high(term)
            state.set_opaque(op.result, max(1 - size, min(low, 0)), min(size - 1, max(high, 0)))
        return
    if not positive:
        state.set_opaque(op.result)
        return
    _below(state, op, term)
    if facts.prove(divisor - 1):
        facts.add(divisor - state.term(op.result) - 1)


# -- bits ------------------------------------------------------------------------------------------


def _iand(state: State, op: Op) -> None:
    terms = [state.term(v) for v in op.operands]
    for term, other in (terms, terms[::-1]):
        mask = other.constant
        if not other.terms and mask > 0 and not mask & (mask + 1) and state.facts.prove(term):
            size = mask + 1  # low bits are a remainder
            state.set_term(op.result, term - _floor(state, term, size).times(size))
            return
    bounds = [term for term in terms if state.facts.prove(term)]
    if not bounds:
        state.set_opaque(op.result)
        return
    atom = state.set_opaque(op.result, 0, min(state.facts.high(term) for term in bounds))
    for term in bounds:
        state.facts.add(term - of(atom))


def _ior(state: State, op: Op) -> None:
    terms = [state.term(v) for v in op.operands]
    if all(state.facts.prove(term) for term in terms):
        atom = state.set_opaque(op.result, 0, _all_ones(state, terms))
        for term in terms:
            state.facts.add(of(atom) - term)
    else:
        state.set_opaque(op.result)


def _ixor(state: State, op: Op) -> None:
    terms = [state.term(v) for v in op.operands]
    if all(state.facts.prove(term) for term in terms):
        state.set_opaque(op.result, 0, _all_ones(state, terms))
    else:
        state.set_opaque(op.result)


def _all_ones(state: State, terms: list[Linear]) -> int:
    """The number with a one in every bit that a number up to the greatest of ``terms`` may have."""
    return (1 << max(state.facts.high(term) for term in terms).bit_length()) - 1


# -- choices ---------------------------------------------------------------------------------------


def _least(state: State, op: Op) -> None:
    _extreme(state, op, sign=1)


def _greatest(state: State, op: Op) -> None:
    _extreme(state, op, sign=-1)


def _extreme(state: State, op: Op, sign: int) -> None:
    x, y = map(state.term, op.operands)
    difference = (y - x).times(sign)
    if state.facts.prove(difference):
        state.set_term(op.result, x)
    elif state.facts.prove(-difference):
        state.set_term(op.result, y)
    else:
        cases = [Case(x, [difference]), Case(y, [-difference])]
        result = of(state.set_merged(op.result, cases))
        state.facts.add((x - result).times(sign))
        state.facts.add((y - result).times(sign))


def _select(state: State, op: Op) -> None:
    condition, then, other = op.operands
    known = state.decide(condition)
    if known is not None:
        state.set_same(op.result, then if known else other)
        return
    x, y = state.term(then), state.term(other)
    if x.equals(y):
        state.set_term(op.result, x)
        return
    cases = [Case(x, state.assume(condition, True)), Case(y, state.assume(condition, False))]
    state.set_merged(op.result, cases)


# -- conversions -----------------------------------------------------------------------------------


def _sext(state: State, op: Op) -> None:
    t = integer_type(op.operands[0])
    assert t is not None
    term = state.term(op.operands[0])
    if t.kind == "i" or state.facts.prove(constant(t.highest >> 1) - term):
        state.set_residue(op.result, term)
    else:
        state.set_opaque(op.result)


def _zext(state: State, op: Op) -> None:
    source = op.operands[0]
    t = source.type
    assert isinstance(t, Scalar)
    if t is b1:
        known = state.decide(source)
        if known is not None:
            state.set_term(op.result, constant(int(known)))
            return
        cases = [Case(constant(int(b)), state.assume(source, b)) for b in (True, False)]
        state.set_merged(op.result, cases)
        return
    term = state.term(source)
    if t.kind == "u" or state.facts.prove(term):
        state.set_residue(op.result, term)
    else:
        state.set_opaque(op.result, 0, (1 << t.bits) - 1)


def _same_bits(state: State, op: Op) -> None:
    """The low bits of an integer, or all of them read as another type."""
    if integer_type(op.operands[0]) is None:
        state.set_opaque(op.result)
    else:
        state.set_residue(op.result, state.residue(op.operands[0]))


_TRANSFERS: Mapping[str, Transfer] = {
    "tid": _tid,
    "launch_dim": _launch_dim,
    "dim": _dim,
    "extract": _extract,
    "thread_index": _up_to(0, MAX_BLOCK_DIM - 1),
    "block_index": _non_negative,
    "block_dim": _up_to(1, MAX_BLOCK_DIM),
    "lane": _up_to(0, 31),
    "popcount": _bit_count,
    "clz": _bit_count,
    "iadd": _iadd,
    "isub": _isub,
    "ineg": _ineg,
    "inot": _inot,
    "imul": _imul,
    "shl": _shl,
    "ashr": _ashr,
    "lshr": _lshr,
    "idiv": _divide,
    "udiv": _divide,
    "irem": _remainder,
    "urem": _remainder,
    "iand": _iand,
    "ior": _ior,
    "ixor": _ixor,
    "smin": _least,
    "umin": _least,
    "smax": _greatest,
    "umax": _greatest,
    "select": _select,
    "sext": _sext,
    "zext": _zext,
    "trunc": _same_bits,
    "bitcast": _same_bits,
}
