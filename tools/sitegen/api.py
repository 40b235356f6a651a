"""The reference of the host's side: pages that mkdocstrings fills from docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import heald
from heald.config import Config
from heald.library.registry import Collective, load_topics
from heald.types import SCALARS, TypeClass
from sitegen.builtins import collective_entry

FOLDER = "api"

# Page: title, what it says first, and the modules of its names: `module` or `module: section`.
_PAGES = {
    "kernels": (
        "Kernels",
        "Making kernels, functions and structs, and what only kernels call.",
        {
            "heald.api.kernel": "Kernels",
            "heald.api.function": "Functions",
            "heald.api.struct": "Structs",
            "heald.api.intrinsics": "In kernels",
            "heald.api.blocks": "In blocks",
            "heald.api.constructors": "Making values",
            "heald.api.values": "Making types",
            "heald.api.array_contracts": "Contracts of arrays",
            "heald.api.options": "Modules and options",
            "heald.api.storage": "Stored kernels",
            "heald.api.build": "Code for GPUs",
        },
    ),
    "launch": (
        "Launching and proving",
        "Running kernels, mapping functions over arrays, proving.",
        {
            "heald.api.launch": "Launching",
            "heald.api.command": "Recorded launches",
            "heald.api.mapping": "Mapping",
            "heald.api.verify": "Proving",
        },
    ),
    "arrays": (
        "Arrays",
        "[Arrays](../arrays.md) tells the same with examples.",
        {
            "heald.api.array": "The array",
            "heald.api.creation": "Making arrays",
            "heald.api.array_ranked": "Arrays of a fixed number of dimensions",
            "heald.api.indexed": "Indexed arrays",
            "heald.api.dlpack": "DLPack",
            "heald.interop.torch": "torch",
        },
    ),
    "devices": (
        "Devices",
        "[GPUs](../gpu.md) tells what they need.",
        {
            "heald.runtime.device": "Devices",
            "heald.api.devices": "More about devices",
            "heald.runtime.cuda.streams": "Streams and events",
            "heald.runtime.cuda.graphs": "Graphs",
            "heald.api.streams": "Memory pools and waiting",
        },
    ),
    "errors": (
        "Exceptions",
        "Every error has a code, and every code [a page](../errors/index.md).",
        {"heald.diagnostics.errors": "Exceptions"},
    ),
    "utils": (
        "Algorithms and geometry",
        "`wp.utils` and what is built on kernels.",
        {"heald.utils": "wp.utils", "heald.geometry.hash_grid": "Hash grids"},
    ),
}
_LAST = ("more", "More", "What has no page of its own.")
_TYPES = "types"


def api_pages() -> dict[str, str]:
    """Path to Markdown: the types, and a page for each group of modules."""
    homes: dict[str, list[str]] = {}
    types = []
    for name in public_names():
        value = getattr(heald, name)
        if isinstance(value, Collective):
            homes.setdefault("heald.api.blocks", []).append(name)
        elif _is_described(value):
            homes.setdefault(value.__module__, []).append(name)
        else:
            types.append(name)
    pages = {f"{FOLDER}/{_TYPES}.md": _types_page(types)}
    homes["heald.utils"] = [f"utils.{name}" for name in _functions_of(heald.utils)]
    for page, (title, text, sections) in _PAGES.items():
        lines = [f"# {title}", "", text, ""]
        for module, section in sections.items():
            lines += [f"## {section}", "", *_references(homes.pop(module, []))]
        pages[f"{FOLDER}/{page}.md"] = "\n".join(lines)
    if homes:
        page, title, text = _LAST
        lines = [f"# {title}", "", text, ""]
        for names in homes.values():
            lines += _references(names)
        pages[f"{FOLDER}/{page}.md"] = "\n".join(lines)
    return pages


def public_names() -> list[str]:
    """The public names that are no builtins, modules or dunders."""
    skipped = {*load_topics(), "Any"}
    names = [n for n in dir(heald) if not n.startswith("_") and n not in skipped]
    return [n for n in names if not isinstance(getattr(heald, n), Config)]


def _is_described(value: Any) -> bool:
    """Does mkdocstrings find it, by module and name?"""
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return False
    if value.__module__ == heald.__name__:  # a type that was made by calling `wp.vec`
        return False
    home = inspect.getmodule(value)
    found = getattr(home, value.__name__, None)
    return bool(value.__doc__) and found in (value, inspect.unwrap(value))


def _functions_of(module: Any) -> Iterator[str]:
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_":
            yield name


def _references(names: list[str]) -> Iterator[str]:
    for name in names:
        value: Any = heald
        for part in name.split("."):
            value = getattr(value, part)
        if isinstance(value, Collective):
            yield from collective_entry(value)
            continue
        yield f"::: {value.__module__}.{value.__name__}"
        yield "    options:"
        yield f"      heading: wp.{name}"
        yield f"      toc_label: {name}"
        yield ""


def _types_page(names: list[str]) -> str:
    """A table of the names that stand for types, by what they are."""
    scalars = {t.public: t for t in SCALARS}
    rows = [
        (name, _type_text(name, getattr(heald, name), scalars))
        for name in sorted(names, key=lambda n: (n not in scalars, n))
    ]
    lines = [
        "# Types",
        "",
        "[The kernel language](../language.md#types) says how they are used. A type is called to",
        "make or convert a value, in kernels and on the host.",
        "",
        "| name | what |",
        "|---|---|",
        *(f"| `wp.{name}` | {text} |" for name, text in rows),
        "",
    ]
    return "\n".join(lines)


def _type_text(name: str, value: Any, scalars: dict[str, Any]) -> str:
    if name in scalars:
        return "`True` or `False`" if name == "bool" else f"{scalars[name].bits} bits"
    if isinstance(value, TypeClass):
        return "in annotations: one of " + ", ".join(t.public for t in value.members)
    if isinstance(value, float):
        return f"the number {value!r}"
    text = (inspect.getdoc(value) or "").partition("\n")[0]
    made = re.fullmatch(r"\w+: heald\.(.*) on the host\.", text)
    return f"`wp.{made[1]}`" if made else text
