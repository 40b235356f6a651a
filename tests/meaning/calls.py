"""Do the calls of an LLVM module fit its functions?  LLVM checks names, not types, but of its own
functions."""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"^de(?:fine|clare) [^@\n]*?(\S+) @([\w.]+)\((.*)\)[^)\n]*$", re.MULTILINE)
_CALL = re.compile(r"\bcall ([^@\n]*?)(\S+) @([\w.]+)\((.*)\)")
_TYPE = re.compile(r"ptr( addrspace\(\d+\))?|\w+|<[^>]*>|\{[^}]*\}|\[[^\]]*\]")


def check_calls(text: str) -> None:
    """Raise where a call gives a function of the module other types than it takes or gives."""
    known = signatures(text)
    lines = [line for line in text.splitlines() if "call " in line and "@llvm." not in line]
    for call in _CALL.finditer("\n".join(lines)):
        if call[3] in known:
            found = (call[2], _types(call[4]))
            assert found == known[call[3]], f"@{call[3]} is {known[call[3]]}, called as {found}"


def signatures(text: str) -> dict[str, tuple[str, list[str]]]:
    """What the functions of a module give and take, those too that are only declared."""
    return {m[2]: (m[1], _types(m[3])) for m in _FUNCTION.finditer(text)}


def _types(arguments: str) -> list[str]:
    types, rest = [], arguments.strip()
    while rest:
        found = _TYPE.match(rest)
        assert found is not None, rest
        types.append(found[0])
        _, _, rest = _without_value(rest[found.end() :]).partition(", ")
    return types


def _without_value(rest: str) -> str:
    """What is left behind attributes and the name or value, which may hold commas in brackets."""
    depth = 0
    for place, letter in enumerate(rest):
        depth += (letter in "<{[(") - (letter in ">}])")
        if letter == "," and depth == 0:
            return rest[place:]
    return ""
