"""The functions that compiled kernels call in the cold: compiled once, bound by address."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from heald.codegen.compile import compile_helper
from heald.codegen.helpers import FAULT, LANES_FAULT, print_room
from heald.codegen.jit import load_object
from heald.codegen.target import host_target

NAMES = ("heald_fault", "heald_lanes_fault", "heald_print_room")
"""What objects of kernels may refer to."""


@cache
def _loaded() -> tuple[Mapping[str, int], object]:
    target = host_target()
    attributes = "attributes #1 = { noinline cold nounwind }"
    parts = [target.header, FAULT, LANES_FAULT, print_room(), attributes]
    text = "\n".join([*parts, "!1 = !{}", ""])
    addresses, keepalive = load_object(compile_helper(text, target), NAMES)
    return dict(zip(NAMES, addresses, strict=True)), keepalive


def addresses() -> Mapping[str, int]:
    """The functions by name; they stay as long as the process."""
    return _loaded()[0]
