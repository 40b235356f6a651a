"""The parser takes any text: it gives a kernel or a ``CompileError``, and nothing else."""

import linecache
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import kernels

from heald.diagnostics import CompileError
from heald.ir import MAX_NESTING, Kernel, check, equal, parse, to_text, walk
from heald.ops import TABLE

SMALL = """\
struct @P {x: f32, "two words": vec<f32,2>}
kernel @small<1>(%a: array<f32,1>, %p: struct<P>) -> (f32) [width=8, shape=(1, 2)] {
  %i: i32 = tid [axis=0] !0
  %x: f32 = load %a, %i [guard=true, id=1] !2
  %c: f32 = const [value=-0x1.8p-3]
  %m: local<f32,4x4> = alloc
  %t: b1 = fcmp %x, %c [pred="olt"]
  %y: f32 = if %t () {
    return %c
  } () {
    yield %x
  } !1
  return %y
} !0
!0 = "k.py" 1:0-2:3
!1 = "k.py" 4:1-4:9
!2 = "lib.py" 9:0-9:1 at !1
"""


def refusal(read: Callable[[], object]) -> CompileError | None:
    try:
        read()
    except CompileError as error:
        return error
    return None


def accepts(text: str) -> bool:
    """Parse and check hostile text; anything but a kernel or a ``CompileError`` is a failure."""
    error = refusal(lambda: parse(text, TABLE, file="<hostile>"))
    if error:
        assert 1 <= len(error.diagnostics) <= 10
        assert set(error.codes) == {"H0901"}
        assert all(d.span and d.span.file == "<hostile>" for d in error.diagnostics)
        return False
    kernel = parse(text, TABLE)
    assert equal(parse(to_text(kernel, spans=True), TABLE), kernel)
    error = refusal(lambda: check(kernel, TABLE))
    assert error is None or set(error.codes) == {"H0904"}
    return True


def mutate(text: str, rng: random.Random) -> str:
    """Damage a text: characters, tokens and lines that go, come twice, or change places."""
    pieces: list[str] = rng.choice((list, re.compile(r"\s+|[\w.]+|.").findall, splitlines))(text)
    for _ in range(rng.randint(1, 4)):
        at, to = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        match rng.randint(0, 4):
            case 0:
                pieces[at] = ""
            case 1:
                pieces[at] *= 2
            case 2:
                pieces[at], pieces[to] = pieces[to], pieces[at]
            case 3:
                pieces[at] = rng.choice(NASTY)
            case 4:
                pieces[at:at] = pieces[min(at, to) : max(at, to)]
    return "".join(pieces)


def splitlines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


NASTY = ["", "{", "}", "(", ")", "<", ">", ",", '"', "\\", ";", "%", "@", "!", "=", ":", "[", "]"]
NASTY += ["!0", "!99", "%x", "%0", "0x1p+1", "nan", "true", "-1", "9" * 20, "vec<f32,", "struct"]
NASTY += ["\x00", "\r", "\u2028", "\ud800", "\u0661", "²", "kernel", "return", "unreachable"]
NASTY += ["local<f32,", "x", "?", "0x", "1:2-3:4", "at", "->", "() {", "yield", "fadd", "%i: i32="]


@given(kernels(spans=True, atomics=True), st.randoms(use_true_random=False))
def test_damaged_kernels_are_refused_or_read(kernel: Kernel, rng: random.Random) -> None:
    text = to_text(kernel, spans=True)
    for _ in range(10):
        accepts(mutate(text, rng))


@given(st.randoms(use_true_random=False))
def test_a_damaged_small_kernel_is_refused_or_read(rng: random.Random) -> None:
    for _ in range(20):
        accepts(mutate(SMALL, rng))


@given(st.text() | st.lists(st.sampled_from(NASTY)).map(" ".join))
def test_any_text_is_refused_or_read(text: str) -> None:
    accepts(text)


def test_every_cut_is_refused() -> None:
    end = SMALL.index("\n!0")
    for stop in range(end - 4):
        assert not accepts(SMALL[:stop])
    assert accepts(SMALL)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "kernel @k<1>(%c: b1) {\n" + "if %c () {\n" * n,
        lambda n: "kernel @k<1>(%c: b1) {\n" + "scope () { " * n + "return }" * n,
        lambda n: "kernel @k<1>(%a: " + "array<" * n,
        lambda n: "kernel @k<1>(%a: vec<f32," + "9" * n + ">) {",
        lambda n: "kernel @k<1>() {\n%x: i32 = const [value=" + "9" * n + "]\nreturn }",
        lambda n: "kernel @k<1>() {\n%x: f64 = const [value=0x" + "9" * n + "p+1]\nreturn }",
        lambda n: "kernel @k<1>() {\n%x: f64 = const [value=0x1p+" + "9" * n + "]\nreturn }",
        lambda n: "kernel @k<1>() {\n%x: local<f32," + "1x" * n + "1> = alloc\nreturn }",
        lambda n: "kernel @k<1>() {\n" + '"\\' * n + "\nreturn }",
        lambda n: "kernel @" + '"' * n,
        lambda n: "struct @S {" + ", ".join(f"f{k}: mat<f64,64,64>" for k in range(n)) + "}",
        lambda n: "".join(
            f"struct @S{k} {{x: {f'struct<S{k - 1}>' if k else 'f32'}}}\n" for k in range(n)
        ),
        lambda n: (
            "kernel @k<1>() {\nreturn\n}\n"
            + "".join(f'!{k} = "f" 1:0-1:1' + (f" at !{k - 1}\n" if k else "\n") for k in range(n))
        ),
        lambda n: "kernel @k<1>() {\n" + "%x: i32 = iadd %y, %z\n" * n,
        lambda n: ";" * n,
    ],
)
def test_text_without_measure_is_refused(make: Callable[[int], str]) -> None:
    assert not accepts(make(5000))


def test_nesting_up_to_the_limit_is_read() -> None:
    def nested(depth: int) -> str:
        return "kernel @k<1>() {\n" + "scope () {\n" * depth + "return\n}\n" * (depth + 1)

    kernel = parse(nested(MAX_NESTING - 1).replace("}\n}", "}\nreturn\n}"), TABLE)
    check(kernel, TABLE)
    assert equal(parse(to_text(kernel), TABLE), kernel)
    with pytest.raises(CompileError, match=f"nested more than {MAX_NESTING} deep"):
        parse(nested(MAX_NESTING), TABLE)


def test_lines_and_blanks_do_not_matter() -> None:
    one_line = re.sub(r"\s+", " ", SMALL)
    spread = re.sub(
        r"([,(){}=:<>\[\]]|->)", r"\n\1 ; comment\n", SMALL.split("\n!0", maxsplit=1)[0]
    )
    assert to_text(parse(one_line, TABLE), spans=True) == SMALL
    places = "\n!0" + SMALL.split("\n!0", 1)[1]
    assert to_text(parse(spread + places, TABLE), spans=True) == SMALL
    assert to_text(parse(SMALL.replace("\n", "\r\n"), TABLE), spans=True) == SMALL


def test_ops_without_operands_do_not_take_the_next_result() -> None:
    text = "kernel @k<0>() {\n%a: local<f32,4> = alloc\n%b: local<f32,4> = alloc\nreturn\n}"
    assert [len(op.operands) for op in walk(parse(text, TABLE).body)] == [0, 0, 0]


def test_located_ops_have_their_own_place() -> None:
    text = (
        "kernel @k<1>(%n: i32) {\n  for %n, %n,\n      %n (%k: i32) {\n    yield\n  }\n  return\n}"
    )
    kernel = parse(text, TABLE, file="<place>", locate=True)
    loop, end = kernel.body.ops
    assert str(kernel.span) == "<place>:1:1"
    assert (loop.span.line, loop.span.col, loop.span.end_line, loop.span.end_col) == (2, 2, 3, 8)
    assert str(loop.regions[0].ops[0].span) == "<place>:4:5"
    assert (end.span.line, end.span.end_col) == (6, 8)
    mixed = parse(SMALL, TABLE, file="<mixed>", locate=True)
    assert [str(op.span) for op in mixed.body.ops[:3]] == ["k.py:1:1", "lib.py:9:1", "<mixed>:5:3"]


def test_an_error_shows_the_text() -> None:
    linecache.cache.pop("<shown>", None)
    text = "kernel @k<1>(%x: f32) {\n  %größe: f32 = fsqtt %x\n  return\n}"
    parse(text.replace("fsqtt", "fsqrt"), TABLE, file="<shown>")
    assert "<shown>" not in linecache.cache
    with pytest.raises(CompileError) as caught:
        parse(text, TABLE, file="<shown>")
    assert str(caught.value).splitlines() == [
        "error[H0901]: expected an op",
        " --> <shown>:2:17",
        "  |",
        "2 |   %größe: f32 = fsqtt %x",
        "  |                 ^^^^^ found fsqtt",
        "hint: did you mean fsqrt?",
    ]


def test_missing_ends_are_shown_where_they_are_missing() -> None:
    text = "kernel @k<1>(%n: i32) {\n  %x: i32 = iadd %n,\n  %y: i32 = iadd %n, %n\n  return\n}"
    with pytest.raises(CompileError) as caught:
        parse(text, TABLE)
    (found,) = caught.value.diagnostics
    assert (str(found.span), found.label) == ("<wir>:2:21", "the line ends here")


def test_lost_definitions_cause_no_further_errors() -> None:
    text = (
        "kernel @k<1>() {\n%x: i33 = tid\n%y: i32 = iadd %x, %x\n%z: i32 = iadd %y, %w\nreturn\n}"
    )
    with pytest.raises(CompileError) as caught:
        parse(text, TABLE)
    assert [d.message for d in caught.value.diagnostics] == ["expected a type"]
