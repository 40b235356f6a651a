"""Terms, and the search for what follows from facts."""

from __future__ import annotations

import itertools
import random

import pytest

from heald.artifact import LinearTerm, Symbol
from heald.passes.interval_facts import Facts, combine, is_modest, is_possible, is_usual
from heald.passes.interval_terms import Atom, Case, Different, Linear, constant, of

RANGE = range(-2, 3)


def facts_of(*terms: Linear) -> Facts:
    facts = Facts(effort=1000)
    facts.add_all(terms)
    return facts


def atoms(count: int, low: int = -100, high: int = 100) -> list[Atom]:
    return [Atom(k, low, high) for k in range(count)]


def value(term: Linear, numbers: dict[Atom, int]) -> int:
    return term.constant + sum(n * numbers[atom] for atom, n in term.terms.items())


def holds(fact: Linear, numbers: dict[Atom, int]) -> bool:
    found = value(fact, numbers)
    return found != 0 if isinstance(fact, Different) else found >= 0


# ------------------------------------------------------------------------------ terms


def test_terms_compute_as_numbers_do():
    x, y = atoms(2)
    term = (of(x).times(3) - of(y) + 5).plus(of(y), 1) - 2
    assert term.equals(of(x).times(3) + 3)
    assert (term - term).equals(constant(0))
    assert (-term).equals(term.times(-1))
    assert term.times(0).equals(constant(0))
    assert (of(x) - of(y)).key == (-(of(y) - of(x))).key


def test_ranges_follow_from_atoms():
    x, y = Atom(0, 0, 10), Atom(1, -3, 4)
    term = of(x).times(2) - of(y) + 1
    assert (term.low, term.high) == (-3, 24)


@pytest.mark.parametrize(
    ("factor", "offset", "expected"), [(2, 1, 0), (2, -1, -1), (3, 7, 2), (1, 5, 5)]
)
def test_a_common_divisor_rounds_down(factor, offset, expected):
    (x,) = atoms(1)
    term = (of(x).times(factor) + offset).tightened()
    assert term.equals(of(x) + expected)


def test_clauses_name_symbols():
    n, d = Symbol("value", 3), Symbol("dim", axis=1)
    x, y = Atom(0, 0, 9, n), Atom(1, 0, 9, d)
    term = of(x) - of(y).times(2) + 7
    assert term.known_at_launch()
    assert term.clause() == LinearTerm(7, ((-2, d), (1, n)))
    assert not (term + of(Atom(2, 0, 1))).known_at_launch()


# ------------------------------------------------------------------------------ facts


def test_scopes_end():
    x, y = atoms(2)
    facts = facts_of(of(x) - 1)
    mark = facts.mark()
    facts.add(of(x) - 5)
    facts.add(of(y) - of(x))
    assert facts.low(of(x)) == 5
    assert facts.prove(of(y) - 5)
    assert len(facts.since(mark)) == 2
    facts.release(mark)
    assert facts.low(of(x)) == 1
    assert not facts.prove(of(y))


def test_clauses_outlive_scopes_until_they_are_retracted():
    x = Atom(0, -100, 100, Symbol("value"))
    facts = facts_of()
    mark = facts.mark()
    facts.add(constant(9) - of(x))
    facts.accept(of(x) - 3)
    assert (facts.low(of(x)), facts.high(of(x))) == (3, 9)
    facts.release(mark)
    assert (facts.low(of(x)), facts.high(of(x))) == (3, 100)
    facts.retract(0)
    assert facts.low(of(x)) == -100


def test_chains_of_facts_are_followed():
    a, b, c, d = atoms(4)
    facts = facts_of(of(b) - of(a) - 1, of(c) - of(b), of(d).times(2) - of(c).times(2) - 1)
    assert facts.prove(of(d) - of(a) - 2)  # 2d - 2c >= 1 means d - c >= 1
    assert not facts.prove(of(d) - of(a) - 3)


def test_half_of_a_number_is_rounded():
    low, high, half = atoms(3)
    facts = facts_of(
        of(high) - of(low) - 1,  # low < high
        of(high) - of(low) - of(half).times(2),  # half <= (high - low) / 2
    )
    assert facts.prove(of(high) - of(low) - of(half) - 1)


def test_what_is_not_zero_and_not_negative_is_positive():
    x, y, z = atoms(3)
    different = of(x) - of(y)
    facts = facts_of(of(x) - of(y), Different(different.constant, different.terms))
    assert facts.prove(of(x) - of(y) - 1)
    assert not facts.prove(of(x) - of(y) - 2)
    assert not facts.prove(of(y) - of(x))
    facts.add(of(z) - of(x))
    assert not facts.contradicts(Different(1, {x: 1}))
    assert facts.contradicts(of(y) - of(x))
    facts.add(of(x) - 4)
    facts.add(constant(4) - of(x))
    assert facts.contradicts(Different(-4, {x: 1}))
    mark = facts.mark()
    facts.add(Different(-9, {z: 1}))
    assert facts.is_different(of(z) - 9)
    assert facts.is_different(constant(9) - of(z))
    facts.release(mark)
    assert not facts.is_different(of(z) - 9)


def test_cases_must_all_hold():
    x, y, z = atoms(3)
    z.cases = (Case(of(x), (of(x) - 2,)), Case(of(y), (of(y) - 5,)))
    facts = facts_of()
    assert facts.prove(of(z) - 2)
    assert not facts.prove(of(z) - 3)


def test_what_the_launch_knows_can_be_asked():
    n, s = Atom(0, -1000, 1000, Symbol("value")), Atom(1, 0, 1000, Symbol("shape"))
    i = Atom(2, 0, 1000)
    facts = facts_of(of(n) - of(i) - 1)
    (clause,) = facts.prove_under(of(s) - of(i) - 1)
    assert clause.equals(of(s) - of(n))
    assert facts.prove_under(-of(i) - 1) is None  # i is never negative
    assert facts.prove_under(of(i)) == []


def test_tests_of_the_program_are_preferred_to_the_size_of_the_launch():
    d, n, s = (Atom(k, 0, 1000, Symbol("value", k)) for k in range(3))
    i = Atom(3, 0, 1000)
    facts = facts_of(of(d) - of(i) - 1)
    facts.test([of(n) - of(i) - 1])
    assert facts.prove_under(of(s) - of(i) - 1)[0].equals(of(s) - of(n))


def test_usual_launches():
    n = Atom(0, -(2**31), 2**31 - 1, Symbol("value"))
    assert is_usual(constant(2**31 - 5) - of(n))
    assert not is_usual(of(n))
    assert is_possible(of(n))
    assert not is_possible(of(n) - (2**31 - 2))
    few = constant(2**31 - 1) - of(n).times(4096)
    assert is_modest(few)
    assert not is_usual(few)
    assert not is_modest(constant(2**31 - 1) - of(n).times(2**20))


def test_without_effort_only_ranges_prove_anything():
    x, y = atoms(2)
    facts = Facts(effort=0)
    facts.add_all([of(x) - 1, of(y) - of(x)])
    assert facts.prove(of(x))
    assert not facts.prove(of(y))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_holds_for_all_small_numbers(seed):
    """Random facts and goals, tried on every assignment of four atoms."""
    rng = random.Random(seed)
    proofs = 0
    for _ in range(100):
        row = atoms(4, RANGE[0], RANGE[-1])

        def term(row: list[Atom] = row) -> Linear:
            chosen = rng.sample(row, rng.choice([1, 2, 2, 3]))
            return Linear(
                rng.randrange(-3, 4), {a: rng.choice([-3, -2, -1, 1, 1, 2]) for a in chosen}
            )

        given = [term() for _ in range(rng.randrange(5))]
        for _ in range(rng.randrange(3)):
            other = term()
            given.append(Different(other.constant, other.terms))
        if rng.random() < 0.5:
            first, second = term(), term()
            # The last atom is one of two terms, and facts say which.
            row[3].cases = (Case(first, (given[0],) if given else ()), Case(second, ()))
        facts = facts_of(*given)
        goals = [term() for _ in range(10)]
        goals += [fact - 1 for fact in given if isinstance(fact, Different)]
        held = [goal for goal in goals if facts.prove(goal)]
        proofs += len(held)
        for numbers in itertools.product(RANGE, repeat=4):
            point = dict(zip(row, numbers, strict=True))
            possible = all(holds(fact, point) for fact in given)
            if possible and row[3].cases:
                possible = any(
                    value(case.term, point) == point[row[3]]
                    and all(holds(fact, point) for fact in case.facts)
                    for case in row[3].cases
                )
            if possible:
                assert all(value(goal, point) >= 0 for goal in held)
    assert proofs > 50


def test_combining_never_proves_too_much():
    x, y = atoms(2, RANGE[0], RANGE[-1])
    factors = (-3, -2, -1, 1, 2, 3)
    for a, b, c, d, e, f in itertools.product(
        factors, factors, (-2, 0, 1), factors, factors, (-1, 2)
    ):
        goal, fact = Linear(c, {x: a, y: b}), Linear(f, {x: d, y: e})
        if a * d < 0:
            continue
        rest = combine(goal, fact, x)
        assert x not in rest.terms
        for p, q in itertools.product(RANGE, RANGE):
            point = {x: p, y: q}
            if value(fact, point) >= 0 and value(rest, point) >= 0:
                assert value(goal, point) >= 0
