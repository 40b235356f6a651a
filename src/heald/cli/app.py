"""The ``heald`` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import heald
from heald.cli.builtins import builtin_lines
from heald.cli.demo import check_demo, list_demos, run_demo
from heald.cli.demos import DEMOS
from heald.cli.doctor import json_text as doctor_json
from heald.cli.doctor import show as show_checks
from heald.cli.doctor import worst
from heald.cli.doctor_checks import State, run_checks
from heald.cli.dump import dump_kernel, find_kernel
from heald.cli.migrate import FORMATS as MIGRATE_FORMATS
from heald.cli.migrate import json_text, migrate_paths, text_lines
from heald.cli.verify import FORMATS, replay_file, show, verify_targets
from heald.command import USAGE
from heald.diagnostics import HealdError
from heald.driver import STAGES
from heald.proof import PROPERTIES

app = typer.Typer(
    name="heald",
    help="Heald: a GPU kernel language inside Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def fail(message: str) -> typer.Exit:
    """Print one error and give the exit with code 2."""
    Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(f"heald: {message}")
    return typer.Exit(USAGE)


def _print_version(asked: bool) -> None:
    if asked:
        print(heald.__version__)
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="As `version`."),
    ] = False,
) -> None:
    """Heald: a GPU kernel language inside Python."""


@app.command()
def version() -> None:
    """Print the version."""
    print(heald.__version__)


@app.command()
def demo(
    name: Annotated[str, typer.Argument(help="Which demo; see --list.")] = "",
    list_all: Annotated[bool, typer.Option("--list", help="Name the demos.")] = False,
    frames: Annotated[int | None, typer.Option(min=1, help="Pictures.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Particles, cells ...")] = None,
    device: Annotated[str, typer.Option(help="cpu, sim or cuda:0.")] = "cpu",
    check: Annotated[
        bool, typer.Option("--check", help="Compare bits with the interpreter.")
    ] = False,
    output: Annotated[Path, typer.Option(help="Folder for pictures and state.")] = Path("."),
) -> None:
    """Run a demo; writes a GIF, a PNG and an .npz of the last state."""
    console = Console(highlight=False, soft_wrap=True)
    if list_all or not name:
        list_demos(console)
        return
    if name not in DEMOS:
        raise fail(f"no demo '{name}'; the demos are {', '.join(DEMOS)}")
    chosen = DEMOS[name]
    try:
        if check and not check_demo(chosen, console, device):
            raise typer.Exit(1)
        run_demo(
            chosen,
            console,
            size=size or chosen.size,
            frames=frames or chosen.frames,
            device=device,
            folder=output,
        )
    except (HealdError, OSError) as error:
        raise fail(str(error)) from None


@app.command()
def dump(
    target: Annotated[str, typer.Argument(help="file.py or module; ::kernel where it has several")],
    stage: Annotated[str, typer.Option(help=" | ".join(STAGES))] = "wir",
    bounds: Annotated[
        bool, typer.Option("--bounds", help="The variant without bounds guards.")
    ] = False,
    spans: Annotated[
        bool, typer.Option("--spans", help="With source places (WIR stages).")
    ] = False,
) -> None:
    """Print a kernel after a stage of its way to the machine."""
    try:
        text = dump_kernel(target, stage, bounds=bounds, spans=spans)
    except (HealdError, OSError, ValueError) as error:
        raise fail(str(error)) from None
    print(text, end="" if text.endswith("\n") else "\n")


@app.command()
def builtins(
    words: Annotated[
        list[str] | None, typer.Argument(help="Names, or words that are all in the text.")
    ] = None,
) -> None:
    """List the builtins that kernels call, with signatures, accuracy and text."""
    try:
        for line in builtin_lines(" ".join(words or ())):
            print(line)
    except ValueError as error:
        raise fail(str(error)) from None


@app.command()
def build(
    target: Annotated[str, typer.Argument(help="file.py or module; ::kernel where it has several")],
    output: Annotated[Path, typer.Option("-o", "--output", help="out.ptx or out.cubin")],
    arch: Annotated[
        str | None, typer.Option(help="Such as sm_90; that of the GPU here by default.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say what ptxas says of registers.")
    ] = False,
) -> None:
    """Write the GPU code of a kernel; no GPU is needed."""
    try:
        heald.build(find_kernel(target), output, arch=arch, verbose=verbose)
    except (HealdError, OSError, ValueError) as error:
        raise fail(str(error)) from None
    print(f"wrote {output}")


@app.command()
def verify(
    targets: Annotated[
        list[str], typer.Argument(help="file.py, folder, module, page.md, file.py::kernel")
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on unknown, too.")] = False,
    form: Annotated[str, typer.Option("--format", help=" | ".join(FORMATS))] = "text",
    properties: Annotated[
        list[str] | None, typer.Option("--property", help=" | ".join(PROPERTIES))
    ] = None,
) -> None:
    """Prove kernels free of faults, races and overflow, or show launches that go wrong.

    Exit code 1 when something is refuted that pyproject.toml does not accept, 2 when a target
    cannot be verified or what is accepted is out of date.
    """
    if form not in FORMATS:
        raise fail(f"no format '{form}'; the formats are {', '.join(FORMATS)}")
    for name in properties or ():
        if name not in PROPERTIES:
            raise fail(f"no property '{name}'; the properties are {', '.join(PROPERTIES)}")
    outcome = verify_targets(targets, properties or (), Console(stderr=True))
    console = Console(highlight=False, markup=False, soft_wrap=True)
    show(outcome, form, console, strict=strict)
    raise typer.Exit(outcome.exit_code(strict=strict))


@app.command()
def replay(
    path: Annotated[str, typer.Argument(help="case.npz, as report.witness.save wrote it.")],
) -> None:
    """Run a stored witness in the interpreter; exit code 1 where it goes wrong."""
    try:
        wrong = replay_file(path, Console(highlight=False, markup=False, soft_wrap=True))
    except (HealdError, OSError) as error:
        raise fail(" ".join(str(error).split())) from None
    raise typer.Exit(int(wrong))


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at this machine: versions, processor, threads, cache, settings, GPUs.

    Exit code 0 when Heald works here (warnings included), 1 when something must be mended.
    """
    checks = run_checks()
    if as_json:
        print(doctor_json(checks))
    else:
        show_checks(checks, Console(highlight=False))
    raise typer.Exit(int(worst(checks) is State.FAIL))


@app.command()
def migrate(
    paths: Annotated[list[str], typer.Argument(help="file.py or folder")],
    form: Annotated[str, typer.Option("--format", help=" | ".join(MIGRATE_FORMATS))] = "text",
) -> None:
    """List what to change in programs that were written for NVIDIA Warp.

    Files are read, neither imported nor changed.  Exit code 0 when only spellings have to be
    changed, 1 when something differs or is missing, 2 when a file cannot be read.
    """
    if form not in MIGRATE_FORMATS:
        raise fail(f"no format '{form}'; the formats are {', '.join(MIGRATE_FORMATS)}")
    result = migrate_paths(paths)
    if form == "json":
        print(json_text(result))
    else:
        for line in text_lines(result):
            print(line)
    raise typer.Exit(result.exit_code)


def main() -> None:
    """Entry point of the ``heald`` script."""
    app()
