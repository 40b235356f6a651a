"""Artifacts as bytes: nothing is lost, and any other bytes are refused."""

from __future__ import annotations

import dataclasses
import json
import random
import struct
from typing import Any

import pytest

from heald.artifact import (
    Access,
    Artifact,
    Lanes,
    LaunchCondition,
    LinearTerm,
    Parameter,
    PrintFormat,
    Site,
    Symbol,
)
from heald.artifact.condition import Apart, ArrayPlace, Unit
from heald.artifact.serialise import (
    Unreadable,
    decode_code,
    decode_source_map,
    encode_code,
    encode_source_map,
    from_plain,
    to_plain,
    with_source_map,
)
from heald.diagnostics import Span
from heald.types import (
    SCALARS,
    Array,
    Matrix,
    Quaternion,
    Struct,
    Transform,
    Type,
    Vector,
    f32,
    f64,
    i32,
    u8,
)

PARTICLE = Struct("Particle", (("at", Vector(f32, 3)), ("spin", Quaternion(f64)), ("alive", u8)))
TYPES: list[Type] = [
    *SCALARS,
    Vector(u8, 7),
    Matrix(f64, 2, 3),
    Quaternion(f32),
    Transform(f64),
    PARTICLE,
    Array(f32, 1),
    Array(PARTICLE, 4),
    Array(Vector(f32, 3), 2, "local", (2, 5)),
    Array(i32, 2, "local"),
    Struct("Outer", (("inner", PARTICLE), ("data", Array(PARTICLE, 2)))),
]
CALL = Span("/home/someone/é\udc80.py", 3, 0, 3, 9)
INNER = Span("other.py", 90, 4, 91, 2, CALL)
PLACES = (ArrayPlace(0, 0, 2, 12), ArrayPlace(1, 3, 1, 4))
CONDITION = LaunchCondition(
    (
        LinearTerm(-(1 << 62), ((1, Symbol("dim", axis=3)), (-7, Symbol("shape", 2, 5, 1)))),
        Apart(PLACES, PLACES[:1], frozenset({(0, 1), (0, 2)})),
        Unit(PLACES, 32),
    )
)


def artifact() -> Artifact:
    """One with something in every field."""
    return Artifact(
        target="cpu",
        code=bytes(range(256)) * 3,
        entry="heald_kernel_k",
        parameters=tuple(Parameter(f"p{n}", t, 8 * n, Access(n % 4)) for n, t in enumerate(TYPES)),
        block_size=8 * len(TYPES),
        rank=3,
        condition=CONDITION,
        sites={
            4: Site("load", INNER, "a"),
            5: Site("store", CALL, "b.c"),
            900: Site("assert", None, 'say "no"\n'),
            901: Site("load", dataclasses.replace(INNER, line=99), "a"),
        },
        formats={7: PrintFormat("%s \u2028 %s\n", ("f32", "i64")), 8: PrintFormat("", ())},
        work=123_456,
        lanes=Lanes(4, 32),
        grain=64,
        waits=True,
        blocks=True,
        few=True,
    )


def decode_artifact(code: bytes, source_map: bytes) -> Artifact:
    return with_source_map(decode_code(code), decode_source_map(source_map))


def test_round_trip() -> None:
    made = artifact()
    for field in dataclasses.fields(Artifact):  # or the test would say nothing of a new field
        if field.default is not dataclasses.MISSING:
            assert getattr(made, field.name) != field.default, field.name
        elif field.default_factory is not dataclasses.MISSING:
            assert getattr(made, field.name) != field.default_factory(), field.name
    read = decode_artifact(encode_code(made), encode_source_map(made))
    assert read == made
    assert [p.type for p in read.parameters] == TYPES  # interned: the very same objects
    assert all(p.type is t for p, t in zip(read.parameters, TYPES, strict=True))
    assert read.sites[4].span is not None
    assert read.sites[4].span.inlined_at == CALL


def test_code_says_nothing_of_the_source() -> None:
    made = artifact()
    moved = dataclasses.replace(
        made,
        parameters=tuple(dataclasses.replace(p, name=p.name * 2) for p in made.parameters),
        sites={n: Site(s.op, None, "elsewhere") for n, s in made.sites.items()},
    )
    assert encode_code(moved) == encode_code(made)
    assert encode_source_map(moved) != encode_source_map(made)


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_types_by_structure(t: Type) -> None:
    assert from_plain(Type, json.loads(json.dumps(to_plain(t)))) is t
    others = [other for other in TYPES if other is not t]
    assert to_plain(t) not in [to_plain(other) for other in others]


def test_structs_of_one_name_differ_by_their_fields() -> None:
    one, two = Struct("S", (("x", f32),)), Struct("S", (("x", f64),))
    assert to_plain(one) != to_plain(two)


def test_every_cut_is_refused() -> None:
    code, places = encode_code(artifact()), encode_source_map(artifact())
    head = 4 + struct.unpack_from("<I", code)[0]
    for stop in range(head):
        with pytest.raises(Unreadable):
            decode_artifact(code[:stop], places)
    for stop in range(len(places)):
        with pytest.raises(Unreadable):
            decode_artifact(code, places[:stop])


def test_changed_bytes_are_refused_or_give_an_artifact() -> None:
    """Never another exception, whatever the checksum let through."""
    code, places = encode_code(artifact()), encode_source_map(artifact())
    head = 4 + struct.unpack_from("<I", code)[0]
    draw = random.Random(5)
    refused = 0
    for _ in range(3000):
        parts = [bytearray(code), bytearray(places)]
        changed = draw.choice(parts)
        for _ in range(draw.randint(1, 3)):
            changed[draw.randrange(head if changed is parts[0] else len(changed))] = draw.choice(
                b'0123456789[]{}",:-nulltruefalse\xff\x00'
            )
        try:
            assert isinstance(decode_artifact(*map(bytes, parts)), Artifact)
        except Unreadable:
            refused += 1
    assert refused > 1000


def change(part: bytes, edit: Any) -> bytes:
    """The part with its JSON edited in place."""
    framed = part[:1] != b"["
    size = struct.unpack_from("<I", part)[0] if framed else 0
    plain = json.loads(part[4 : 4 + size] if framed else part)
    edit(plain)
    text = json.dumps(plain).encode()
    return struct.pack("<I", len(text)) + text + part[4 + size :] if framed else text


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p.__setitem__(0, 999),
        lambda p: p[1].pop(),
        lambda p: p[1].append(1),
        lambda p: p[1].__setitem__(0, "Span"),
        lambda p: p[1].__setitem__(1, 5),
        lambda p: p[1][4][0].__setitem__(2, ["Vector", "f33", 3]),
        lambda p: p[1][4][0].__setitem__(2, ["Matrix", "f32", True, 3]),
        lambda p: p[1][4][0].__setitem__(4, 77),
        lambda p: p[1].__setitem__(5, 1 << 64),
        lambda p: p[1].__setitem__(5, 1.5),
        lambda p: p[1].__setitem__(2, "code"),
        lambda p: p.__setitem__(1, None),
        lambda p: p.append(0),
    ],
)
def test_code_of_another_form(edit: Any) -> None:
    made = artifact()
    assert change(encode_code(made), lambda p: None) != b""
    assert decode_artifact(change(encode_code(made), lambda p: None), encode_source_map(made))
    with pytest.raises(Unreadable):
        decode_artifact(change(encode_code(made), edit), encode_source_map(made))


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p.__setitem__(0, 1),
        lambda p: p[1].pop(),  # of another kernel
        lambda p: p[1].__setitem__(0, 3),
        lambda p: p[2].pop(),
        lambda p: p[3][0].__setitem__(5, 1),  # a span inlined at itself
        lambda p: p[3][0].__setitem__(0, -1),
        lambda p: p[3][0].pop(),
        lambda p: p[4][0].__setitem__(2, 50),
        lambda p: p[4][0].__setitem__(2, -1),
        lambda p: p[4][0].append(0),
        lambda p: p[4].__setitem__(0, "0"),
    ],
)
def test_source_map_of_another_form(edit: Any) -> None:
    made = artifact()
    with pytest.raises(Unreadable):
        decode_artifact(encode_code(made), change(encode_source_map(made), edit))


def test_deep_nesting_is_refused() -> None:
    made = artifact()
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(Unreadable):
        decode_artifact(encode_code(made), deep)
