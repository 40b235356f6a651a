"""The functions that compiled kernels call in the cold: compiled once, bound by address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heald.codegen.compile import compile_helper
from heald.codegen.helpers import FAULT, HALVES, LANES_FAULT, print_room
from heald.codegen.jit import load_object
from heald.codegen.target import host_target
from heald.once import once

NAMES = ("heald_fault", "heald_lanes_fault", "heald_print_room")
HALF_NAMES = ("__extendhfsf2", "__truncsfhf2")
"""What objects of kernels may refer to; the last two where the processor knows no float16."""


@once
def _loaded() -> tuple[Mapping[str, int], object]:
    target = host_target()
    attributes = "attributes #1 = { noinline cold nounwind }"
    parts = [target.header, FAULT, LANES_FAULT, print_room(), attributes]
    text = "\n".join([*parts, "!1 = !{}", ""])
    addresses, keepalive = load_object(compile_helper(text, target), NAMES)
    return dict(zip(NAMES, addresses, strict=True)), keepalive


@once
def _halves() -> tuple[Mapping[str, int], object]:
    target = host_target()
    code = compile_helper(target.header + HALVES, target)
    addresses, keepalive = load_object(code, HALF_NAMES)
    return dict(zip(HALF_NAMES, addresses, strict=True)), keepalive


def addresses(names: Iterable[str]) -> Mapping[str, int]:
    """Those of the functions that are among ``names``; they stay as long as the process."""
    wanted = frozenset(names)
    found: dict[str, int] = {}
    if not wanted.isdisjoint(NAMES):
        found |= _loaded()[0]
    if not wanted.isdisjoint(HALF_NAMES):
        found |= _halves()[0]
    return {name: found[name] for name in wanted & found.keys()}
