"""Rewrite rules as text: ``("isub (iadd x y) y", "x")``, and how they match.

A pattern is an op with its operands in prefix form.  A name of one letter stands for a value: ``c``
and ``d`` for constants, ``p`` for constants whose top bit is clear, the others for anything; the
same name twice is the same value.  ``LOWEST``, ``HIGHEST`` and ``ONES`` are the least and the
greatest number of the type and the one with all bits set; numbers with a point are floats, of which
-0.0 and 0.0 differ.  ``icmp.slt`` is an ``icmp`` with that ``pred``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from heald.types import Scalar, b1

Number = bool | int | float


@dataclass(frozen=True, slots=True)
class Variable:
    """Any value, or with ``constant`` a constant that ``admits`` accepts."""

    name: str

    @property
    def constant(self) -> bool:
        """Does it match constants only?"""
        return self.name in ("c", "d", "p")

    def admits(self, number: Number, type: Scalar) -> bool:
        """May it stand for this constant?"""
        return self.name != "p" or 0 <= number < 1 << (type.bits - 1)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of whatever type its place has."""

    text: str

    def number(self, type: Scalar) -> Number | None:
        """The number of ``type`` that is meant, or None where the type has none such."""
        if type.is_float:
            return float(self.text) if "." in self.text else None
        if "." in self.text:
            return None
        if type is b1:
            return {"0": False, "ONES": True}.get(self.text)
        match self.text:
            case "LOWEST":
                return type.lowest
            case "HIGHEST":
                return type.highest
            case "ONES":
                return -1 if type.kind == "i" else type.highest
            case _:
                return int(self.text)


@dataclass(frozen=True, slots=True)
class Node:
    """An op; ``key`` is its name, with a predicate after a dot."""

    key: str
    operands: tuple[Pattern, ...]

    @property
    def name(self) -> str:
        """The name of the op."""
        return self.key.partition(".")[0]

    @property
    def attrs(self) -> dict[str, str]:
        """The attributes of the op."""
        pred = self.key.partition(".")[2]
        return {"pred": pred} if pred else {}


Pattern = Variable | Literal | Node


@dataclass(frozen=True, slots=True)
class Rule:
    """What ``before`` matches may become ``after``, where the types allow it."""

    before: Node
    after: Pattern

    def __str__(self) -> str:
        return f"{to_source(self.before)} -> {to_source(self.after)}"


def rule(before: str, after: str) -> Rule:
    """A rule from the text of its two sides."""
    matched = parse_pattern(before)
    assert isinstance(matched, Node)
    return Rule(matched, parse_pattern(after))


def parse_pattern(text: str) -> Pattern:
    """The pattern that ``text`` shows; an op at the top needs no brackets."""
    tokens = iter(text.replace("(", " ( ").replace(")", " ) ").split())
    parts = _parse_all(tokens)
    return parts[0] if len(parts) == 1 else _node(parts)


def _parse_all(tokens: Iterator[str]) -> list[Pattern]:
    parts: list[Pattern] = []
    for token in tokens:
        if token == ")":
            break
        parts.append(_node(_parse_all(tokens)) if token == "(" else _leaf(token))
    return parts


def _node(parts: list[Pattern]) -> Node:
    head = parts[0]
    assert isinstance(head, Literal)
    return Node(head.text, tuple(parts[1:]))


def _leaf(token: str) -> Pattern:
    return Variable(token) if len(token) == 1 and token.isalpha() else Literal(token)


def to_source(pattern: Pattern) -> str:
    """A pattern as text."""
    match pattern:
        case Variable():
            return pattern.name
        case Literal():
            return pattern.text
        case Node():
            return f"({' '.join([pattern.key, *map(to_source, pattern.operands)])})"


# -- lookup ----------------------------------------------------------------------------------------

CONSTANT = "const"


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """Rules, found by what an op and its operands look like."""

    rules: tuple[Rule, ...]

    @cache  # noqa: B019 -- rule sets live as long as the process
    def candidates(self, key: str, shapes: tuple[str, ...]) -> tuple[Rule, ...]:
        """Rules whose top level fits an op ``key`` whose operands are made by ops ``shapes``."""
        return tuple(r for r in self.rules if r.before.key == key and _fits(r.before, shapes))


def _fits(node: Node, shapes: tuple[str, ...]) -> bool:
    if len(node.operands) != len(shapes):
        return False
    for pattern, shape in zip(node.operands, shapes, strict=True):
        match pattern:
            case Node() if pattern.key != shape:
                return False
            case Literal() if shape != CONSTANT:
                return False
            case Variable(constant=True) if shape != CONSTANT:
                return False
    return True
