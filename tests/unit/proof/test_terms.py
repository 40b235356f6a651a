"""Terms mean what they say: whatever is simplified has the value of what it came from."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import product

import pytest

from heald.proof.products import lemmas
from heald.proof.terms import BOOL, INT, Term, Terms, constant_of, polynomial, show

Env = dict[Term, int | bool]


def value(term: Term, env: Env) -> int | bool:
    """The value of a term, computed from its structure."""
    if term in env:
        return env[term]
    match term.kind:
        case "true" | "false":
            return term.kind == "true"
        case "sum":
            total = 0
            for monomial, count in polynomial(term).items():
                total += count * math.prod(value(atom, env) for atom in monomial)
            return total
        case "ge":
            return value(term.args[0], env) >= 0
        case "zero":
            return value(term.args[0], env) == 0
        case "same":
            return value(term.args[0], env) == value(term.args[1], env)
        case "not":
            return not value(term.args[0], env)
        case "and":
            return all(value(arg, env) for arg in term.args)
        case "or":
            return any(value(arg, env) for arg in term.args)
        case "ite":
            return value(term.args[1 if value(term.args[0], env) else 2], env)
    raise AssertionError(term.kind)


class Pairs:
    """Random terms, each with a function that says what it must be."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.t = Terms()
        self.symbols = [self.t.symbol("x", INT, low, high) for low, high in RANGES]
        self.flags = [self.t.symbol("p", BOOL) for _ in range(2)]
        self.numbers: list[tuple[Term, Callable[[Env], int]]] = [
            (s, lambda env, s=s: env[s]) for s in self.symbols
        ]
        self.truths: list[tuple[Term, Callable[[Env], bool]]] = [
            (s, lambda env, s=s: env[s]) for s in self.flags
        ]

    def grow(self) -> None:
        t, pick = self.t, self.random.randrange
        (x, fx), (y, fy) = (self.random.choice(self.numbers[-6:]) for _ in range(2))
        (p, fp), (q, fq) = (self.random.choice(self.truths[-6:]) for _ in range(2))
        c = self.random.randrange(-4, 5)
        number: list[tuple[Term, Callable[[Env], int]]] = [
            (t.add(x, y, c), lambda env: fx(env) + c * fy(env)),
            (t.subtract(x, y), lambda env: fx(env) - fy(env)),
            (t.plus(x, c), lambda env: fx(env) + c),
            (t.scale(x, c), lambda env: c * fx(env)),
            (t.choose(p, x, y), lambda env: fx(env) if fp(env) else fy(env)),
        ]
        if len(polynomial(x)) * len(polynomial(y)) <= 9:
            number.append((t.multiply(x, y), lambda env: fx(env) * fy(env)))
        truth: list[tuple[Term, Callable[[Env], bool]]] = [
            (t.at_least(x, y), lambda env: fx(env) >= fy(env)),
            (t.less(x, y), lambda env: fx(env) < fy(env)),
            (t.same(x, y), lambda env: fx(env) == fy(env)),
            (t.between(-2, x, 5), lambda env: -2 <= fx(env) <= 5),
            (t.negate(p), lambda env: not fp(env)),
            (t.both(p, q), lambda env: fp(env) and fq(env)),
            (t.either(p, q), lambda env: fp(env) or fq(env)),
            (t.implies(p, q), lambda env: not fp(env) or fq(env)),
            (t.same(p, q), lambda env: fp(env) == fq(env)),
            (t.choose(p, q, t.negate(q)), lambda env: fq(env) if fp(env) else not fq(env)),
        ]
        self.numbers.append(number[pick(len(number))])
        self.truths.append(truth[pick(len(truth))])

    def environments(self) -> list[Env]:
        return [
            {s: self.random.randint(*RANGES[k]) for k, s in enumerate(self.symbols)}
            | {p: self.random.random() < 0.5 for p in self.flags}
            for _ in range(12)
        ]


RANGES = ((0, 6), (-4, 4), (1, 3), (-5, -1))


@pytest.mark.parametrize("seed", range(40))
def test_terms_have_the_value_of_what_they_were_made_from(seed: int) -> None:
    pairs = Pairs(seed)
    for _ in range(25):
        pairs.grow()
    for env in pairs.environments():
        for term, meaning in pairs.numbers:
            low, high = pairs.t.range(term)
            assert value(term, env) == meaning(env), show(term)
            assert low <= meaning(env) <= high
        for truth, holds in pairs.truths:
            assert value(truth, env) == holds(env), show(truth)


@pytest.mark.parametrize("seed", range(10))
def test_renamed_terms_speak_of_another_thread(seed: int) -> None:
    pairs = Pairs(seed)
    shared = pairs.t.symbol("n", INT, 0, 5, shared=True)
    pairs.numbers.append((shared, lambda env: env[shared]))
    for _ in range(15):
        pairs.grow()
    t = pairs.t
    for env in pairs.environments():
        env[shared] = 3
        other = {t.rename(s, 1): x for s, x in env.items()}
        for term, meaning in pairs.numbers:
            assert value(t.rename(term, 1), other) == meaning(env)
    assert t.rename(shared, 1) is shared
    assert t.rename(pairs.symbols[0], 1) is not t.rename(pairs.symbols[0], 2)


def test_unknowns_of_one_name_are_two() -> None:
    t = Terms()
    first = t.symbol("x", INT, 0, 9)
    assert t.symbol("x", INT, 0, 9) is not first
    assert t.symbol("x.1", INT, 0, 9) is not t.symbol("x", INT, 0, 9)


def test_equal_terms_are_one_object() -> None:
    t = Terms()
    x, y = (t.symbol(name, INT, -9, 9) for name in "xy")
    assert t.multiply(t.add(x, y), t.subtract(x, y)) is t.subtract(
        t.multiply(x, x), t.multiply(y, y)
    )
    assert t.less(t.scale(x, 2), t.plus(t.scale(y, 2), 1)) is t.at_least(y, x)
    assert constant_of(t.subtract(t.plus(x, 3), x)) == 3
    assert t.same(t.scale(x, 2), t.plus(t.scale(y, 2), 1)) is t.false


def test_definitions_follow_copies() -> None:
    t = Terms()
    x, n = t.symbol("x", INT, 0, 9), t.symbol("n", INT, 0, 9, shared=True)
    t.define(x, t.less(x, n))
    copy = t.rename(x, 2)
    assert t.definitions(copy) == [t.less(copy, n)]


@pytest.mark.parametrize("ranges", [((0, 4), (0, 4), (0, 4)), ((-3, 3), (0, 3), (-2, 2))])
@pytest.mark.parametrize("reach", [1, 3])
def test_lemmas_about_products_are_true(ranges: tuple[tuple[int, int], ...], reach: int) -> None:
    t = Terms()
    symbols = [t.symbol("x", INT, low, high) for low, high in ranges]
    a, b, c = symbols
    products = [(a, b), (a, c), (b, c), (a, a), (a, b, c), (c, c)]
    found = list(lemmas(products, t.range, reach, {a: {2, -2}}))
    assert len(found) > 50
    used = 0
    for numbers in product(*(range(low, high + 1) for low, high in ranges)):
        env = dict(zip(symbols, numbers, strict=True))

        def total(terms, offset, env=env):  # type: ignore[no-untyped-def]
            sums = (n * math.prod(env[atom] for atom in m) for m, n in terms.items())
            return offset + sum(sums)

        for lemma in found:
            if all(total(*condition) >= 0 for condition in lemma.conditions):
                used += 1
                assert total(*lemma.goal) >= 0, (env, lemma)
    assert used > 1000
