"""From instructions back to the user's lines."""

import re

import pytest
from unit.codegen.harness import Make

from heald.codegen import assembly, compile_object, host_target, llvm_text, optimised_text
from heald.codegen.locations import _quoted
from heald.diagnostics import Span
from heald.ir import Kernel
from heald.types import Array, f32

pytestmark = pytest.mark.cpu


def kernel_with_places() -> Kernel:
    m = Make("scale", x=Array(f32, 1), y=Array(f32, 1))
    m.at(11, 4, "pkg/user.py")
    i = m.tid()
    m.at(12, 8, "pkg/user.py")
    x = m.load(m.x, i)
    call = Span("pkg/user.py", 13, 4, 13, 9)
    m.at(97, 2, "lib/helpers.py", call=call)
    y = m.op("fmul", x, x)
    m.at(14, 0, "other/elsewhere.py")
    y = m.op("fdiv", y, m.const(f32, 3.0))
    m.at(15, 0, "pkg/user.py")
    m.store(m.y, i, y)
    return m.done(span=Span("pkg/user.py", 10, 0, 15, 0))


def lines_of(listing: str) -> dict[str, set[tuple[str, int]]]:
    """For each mnemonic the places (file, line) from which it comes."""
    files, here, found = {}, ("", 0), {}
    for line in listing.splitlines():
        if match := re.match(r'\s*\.file\s+(\d+) (?:"([^"]*)" )?"([^"]*)"', line):
            files[match[1]] = match[3]
        elif match := re.match(r"\s*\.loc\s+(\d+) (\d+)", line):
            here = (files[match[1]], int(match[2]))
        elif match := re.match(r"\t(\w+)\t", line):
            found.setdefault(match[1], set()).add(here)
    return found


def test_assembly_names_the_line_of_every_instruction() -> None:
    target = host_target()
    text = llvm_text(kernel_with_places(), entry="entry", target=target)
    places = lines_of(assembly(text, target))
    assert places["vdivss"] == {("elsewhere.py", 14)}
    multiplied = places.get("vmulss") or places["vmulps"]
    assert multiplied == {("helpers.py", 97)}
    assert ("user.py", 12) in places["vmovss"]
    assert ("user.py", 15) in places["vmovss"]


def test_a_place_keeps_its_chain_of_calls() -> None:
    target = host_target()
    text = llvm_text(kernel_with_places(), entry="entry", target=target)
    listing = optimised_text(text, target)
    place = re.search(r"fmul .*!dbg !(\d+)", listing)[1]
    inner = re.search(rf"!{place} = !DILocation\(line: 97, column: 3, .*inlinedAt: !(\d+)", listing)
    assert re.search(rf"!{inner[1]} = .*!DILocation\(line: 13, column: 5", listing)


def test_places_do_not_change_the_code() -> None:
    target = host_target()
    plain, with_places = (
        assembly(
            llvm_text(kernel_with_places(), entry="entry", target=target, locations=on), target
        )
        for on in (False, True)
    )

    def instructions(listing: str) -> list[str]:
        code = listing.split(".section\t.debug", maxsplit=1)[0].splitlines()
        return [line for line in code if re.match(r"\t[a-z]", line)]

    assert ".loc" in with_places
    assert ".loc" not in plain
    assert instructions(plain) == instructions(with_places)


def test_code_without_places_depends_on_content_only() -> None:
    def code(line: int) -> bytes:
        m = Make(x=Array(f32, 1))
        m.at(line)
        m.store(m.x, m.tid(), m.const(f32, 1.0))
        target = host_target()
        text = llvm_text(m.done(), entry="entry", target=target, locations=False)
        return compile_object(text, target)

    assert code(3) == code(40)


def test_kernels_without_any_place_still_compile_with_places() -> None:
    m = Make(x=Array(f32, 1))
    m.store(m.x, m.tid(), m.const(f32, 1.0))
    target = host_target()
    text = llvm_text(m.done(), entry="entry", target=target)
    assert ".loc" in assembly(text, target)


def test_odd_file_names() -> None:
    name = 'a "b"\\ü\n.py'
    assert _quoted(name) == '"a \\22b\\22\\5C\\C3\\BC\\0A.py"'
    m = Make(x=Array(f32, 1))
    m.at(3, file=name)
    m.store(m.x, m.tid(), m.const(f32, 1.0))
    target = host_target()
    text = llvm_text(m.done(), entry="entry", target=target)
    assert "\\22b\\22" in optimised_text(text, target)
