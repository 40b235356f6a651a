"""The reference of the builtins: a page for each group, from the table of builtins."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from types import FunctionType

from heald.cli.builtins import (
    accuracy_text,
    domain_text,
    fast_promise,
    public_builtins,
    summary,
)
from heald.frontend.signatures import result_text, signature_text
from heald.library.registry import Builtin, Collective

FOLDER = "builtins"
_PATTERNS = """\
In signatures `Float` stands for float16, bfloat16, float32 and float64, `Int` for the integers,
`Scalar` for both; within one call each of them, and each of the sizes `N`, `R`, `C`, is one. "Ulp"
is the unit in the last place of the result, and the bound holds for every argument that the text
does not leave out; what is left out gives a result, too, which is what the source makes of it, and
nothing worse. Every builtin gives the same bits on the CPU, on GPUs and in the interpreter."""


def builtin_pages() -> dict[str, str]:
    """Path to Markdown: the index, and a page a group."""
    pages = {f"{FOLDER}/index.md": _index()}
    for group, members in _groups().items():
        pages[f"{FOLDER}/{_file(group)}"] = _page(group, members)
    return pages


@cache
def _groups() -> Mapping[str, list[Builtin]]:
    ordered = sorted(public_builtins(), key=lambda b: (b.group, b.name))
    return {group: list(members) for group, members in groupby(ordered, key=lambda b: b.group)}


def _file(group: str) -> str:
    return f"{group.lower().replace(' ', '-')}.md"


@cache
def _places() -> Mapping[str, str]:
    """Where each builtin is described, seen from a page of this folder."""
    return {b.name: f"{_file(group)}#{b.name}" for group, all_ in _groups().items() for b in all_}


def _index() -> str:
    lines = [
        "# Builtins",
        "",
        "What kernels call, and Python on the host, too. In a terminal `heald builtins` lists them",
        "and `heald builtins WORD` searches. Each is one function in the kernel language, or one",
        'for each family of types; "View source" on its page shows it.',
        "",
        "[Where they differ from those of NVIDIA Warp](../differences.md) has a page of its own;",
        "threads, atomics and printing are under [In kernels](../api/kernels.md#in-kernels).",
        "",
        _PATTERNS,
        "",
    ]
    for group, members in _groups().items():
        lines += [f"## [{group}]({_file(group)})", "", "| builtin | what it gives |", "|---|---|"]
        for builtin in members:
            text = _cell(summary(builtin.doc, plain=_markdown))
            lines.append(f"| [`{builtin.name}`]({_places()[builtin.name]}) | {text} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(group: str, members: list[Builtin]) -> str:
    count = "1 builtin" if len(members) == 1 else f"{len(members)} builtins"
    lines = [f"# {group}", "", f"{count}. [All groups and how to read this](index.md)", ""]
    for builtin in members:
        lines += [*_entry(builtin), ""]
    return "\n".join(lines)


def _entry(builtin: Builtin) -> Iterator[str]:
    yield f"## {builtin.name}"
    yield ""
    yield "```python"
    for record in builtin.records:
        yield f"wp.{builtin.name}{signature_text(record.function)}{result_text(record.function)}"
    yield "```"
    yield ""
    yield _text(builtin.doc)
    yield ""
    yield from _promises(builtin)
    yield ""
    yield from _source_block(_sources(builtin))


def _source_block(sources: dict[str, list[str]]) -> Iterator[str]:
    yield '??? abstract "View source"'
    yield ""
    for place, functions in sources.items():
        yield f"    `{place}`"
        yield ""
        yield "    ```python"
        yield textwrap.indent("\n\n".join(functions), "    ", lambda line: bool(line.strip()))
        yield "    ```"
        yield ""


def collective_entry(collective: Collective) -> Iterator[str]:
    """A function in which threads work together, for a page of the Python reference."""
    functions = collective.__heald_overloads__
    yield f"### wp.{collective.name}"
    yield ""
    yield "```python"
    for function in functions:
        yield f"wp.{collective.name}{signature_text(function)}{result_text(function)}"
    yield "```"
    yield ""
    yield _text(inspect.cleandoc(collective.__doc__ or ""))
    yield ""
    yield from _source_block(_by_file(functions))


def _promises(builtin: Builtin) -> Iterator[str]:
    """The accuracy of each signature, said once where all agree, and what arguments must be."""
    texts = [accuracy_text(record.accuracy) for record in builtin.records]
    if len(set(texts)) == 1:
        yield f"**Accuracy:** {texts[0]}"
    else:
        takes = [_first_type(record.function) for record in builtin.records]
        pairs = dict.fromkeys(zip(takes, texts, strict=True))
        yield "**Accuracy:** " + "; ".join(f"{text} for {type_}" for type_, text in pairs)
    for record in builtin.records:
        for promise in fast_promise(record, "`fast_math`"):
            types, _, text = promise.partition(": ")
            yield ""
            yield f"**{types}:** {text}"
    domains = dict.fromkeys(d for record in builtin.records if (d := domain_text(record)))
    for domain in domains:
        yield ""
        yield f"**For** {domain}"


def _first_type(function: FunctionType) -> str:
    """The type of the first parameter, which tells the signatures of a builtin apart."""
    parameters = signature_text(function)
    first = re.match(r"\(\w+: (.*?)(?:, \w+: .*)?\)$", parameters)
    return f"`{first[1]}`" if first else "no arguments"


def _sources(builtin: Builtin) -> dict[str, list[str]]:
    """The definition of every overload by the file that holds it."""
    fast = [record.fast.function for record in builtin.records if record.fast is not None]
    return _by_file(dict.fromkeys((*builtin.overloads, *fast)))


def _by_file(functions: Iterable[FunctionType]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for function in functions:
        place = f"src/{function.__module__.replace('.', '/')}.py"
        found.setdefault(place, []).append(inspect.getsource(function).rstrip())
    return found


def _text(doc: str) -> str:
    """Docstring to Markdown: literals, references, and examples as blocks."""
    return "\n\n".join(_paragraph(paragraph) for paragraph in doc.split("\n\n"))


def _paragraph(text: str) -> str:
    if text.lstrip().startswith(">>>"):
        return f"```pycon\n{text}\n```"
    return _markdown(text)


def _markdown(text: str) -> str:
    def reference(match: re.Match[str]) -> str:
        place = _places().get(match[1])
        return f"[`{match[1]}`]({place})" if place else f"`{match[1]}`"

    pieces = re.split(r"(``.+?``)", text, flags=re.DOTALL)
    return "".join(
        f"`{piece[2:-2]}`"
        if piece.startswith("``")
        else re.sub(r":func:`(\w+)`", reference, piece).replace("*", r"\*")
        for piece in pieces
    )
