"""The order of the site: parts in a fixed order, pages of a part as they are found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_GUIDES = [
    "language.md",
    "language-cases.md",
    "arrays.md",
    "proofs.md",
    "gpu.md",
    "migrate.md",
    "differences.md",
]
_TOOLS = ["commands.md", "doctor.md", "cache.md", "settings.md", "verify.md"]
_INSIDE = ["design.md", "wir.md"]
# Part: pages in this order where they exist, then every other page of these folders.
_PARTS: dict[str, tuple[list[str], list[str]]] = {
    "Tutorial": ([], ["tutorial"]),
    "Guides": (_GUIDES, []),
    "Builtins": ([], ["builtins"]),
    "Python reference": ([], ["api"]),
    "Tools": (_TOOLS, []),
    "Errors": ([], ["errors"]),
    "Inside": (_INSIDE, []),
    "Decisions": ([], ["adr"]),
}
_HOME = "index.md"
_REST = "More"
_LEFT_OUT = ("0000-template.md",)


def navigation(pages: Mapping[str, str]) -> list[dict[str, Any]]:
    """What MkDocs takes as ``nav``, for pages by path; each is shown once."""
    left = {p for p in pages if p.rpartition("/")[2] not in _LEFT_OUT}
    entries: list[dict[str, Any]] = [{"Home": _HOME}]
    left.discard(_HOME)
    for part, (named, folders) in _PARTS.items():
        found = [p for p in named if p in left]
        for folder in folders:
            inside = [p for p in left if p.startswith(f"{folder}/")]
            found += sorted(inside, key=lambda p: (not p.endswith("/index.md"), p))
        left.difference_update(found)
        if found:
            entries.append({part: found})
    if left:
        entries.append({_REST: sorted(left)})
    return entries
