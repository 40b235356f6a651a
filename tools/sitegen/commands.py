"""The page of the ``heald`` command, from the command itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from heald.cli.app import app

PATH = "commands.md"


def command_pages() -> dict[str, str]:
    """Path to Markdown: the one page."""
    lines = [
        "# The heald command",
        "",
        "`heald --help` lists the commands, `heald COMMAND --help` explains one. Errors of usage",
        "end with exit code 2; other codes are said below.",
        "",
    ]
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        lines += _entry(name, command)
    return {PATH: "\n".join(lines)}


def _entry(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name != "argument" and p.name != "help"]
    usage = " ".join(
        [f"heald {name}", *map(_usage, arguments), *(["[OPTIONS]"] if options else [])]
    )
    yield f"## {name}"
    yield ""
    yield "```sh"
    yield usage
    yield "```"
    yield ""
    yield inspect.cleandoc(command.help or "")
    yield ""
    if arguments or options:
        yield "| | meaning | default |"
        yield "|---|---|---|"
        for parameter in (*arguments, *options):
            names = "`, `".join(parameter.opts) if parameter in options else _usage(parameter)
            default = parameter.default
            shown = "" if default in (None, "", False, [], ()) or callable(default) else default
            yield f"| `{names}` | {_cell(parameter.help)} | {_cell(shown)} |"
        yield ""


def _usage(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _cell(value: object) -> str:
    return str(value or "").replace("|", "\\|")
