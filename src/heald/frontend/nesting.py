"""How deep blocks may stand in each other."""

from __future__ import annotations

import ast

from heald.frontend.session import Session
from heald.ir import MAX_NESTING

MOST_BLOCKS = MAX_NESTING - 20
"""Blocks around a statement; its expressions may open some more regions."""


def check_nesting(s: Session, node: ast.stmt) -> None:
    """Refuse a statement inside more blocks than WIR allows."""
    if s.builder.depth <= MOST_BLOCKS:
        return
    rest = node.orelse if isinstance(node, ast.If) else []
    is_chain = len(rest) == 1 and isinstance(rest[0], ast.If)
    raise s.refuse(
        node,
        "H0101",
        f"this is inside more than {MOST_BLOCKS} blocks",
        "each elif is a block inside the else before it" if is_chain else "",
        hint="write cases one after another in a @wp.func, each `if ...: return ...`, or look "
        "numbers up in an array",
    )
