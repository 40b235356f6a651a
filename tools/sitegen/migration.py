"""The page about programs for Warp, from the table of ``heald migrate``."""

from __future__ import annotations

from collections.abc import Iterator

from heald.cli.migration import CONSTRUCTS, Construct, Kind

PATH = "migrate.md"
_HEADINGS = {
    Kind.REWRITE: "What to spell in another way",
    Kind.DIFFERS: "What means something else, or is refused in this form",
    Kind.UNSUPPORTED: "What is not there",
    Kind.NOTE: "Good to know",
}
_INTRODUCTION = f"""\
# Coming from NVIDIA Warp

Names, argument order and meaning are Warp's, so many programs need one changed line:

```text
import heald as wp
```

`heald migrate` lists what else is to be done. It reads files, and the Python files of folders; it
imports nothing and changes nothing.

```sh
heald migrate my_program.py
heald migrate my_folder --format json
```

```text
my_program.py:22:12: differs [int-division] i / 2
    {CONSTRUCTS["int-division"].remedy}
my_program.py:35:9: unsupported [tiles] wp.tile_load
    {CONSTRUCTS["tiles"].remedy}
```

| exit code | when |
|---|---|
| 0 | nothing, or only spellings have to be changed |
| 1 | something differs or is missing |
| 2 | a file could not be read or is no Python (the others are reported all the same) |

What a kernel computes is judged from its text alone. A type that is not plain there is not
guessed: `a / b` of two numbers of unknown type is not reported (Heald refuses it with an error if
they are integers); `a % b` is, since it would change in silence.
"""
_NO_CHANGE = """\
## What needs no change

| | Warp | Heald |
|---|---|---|
| an index out of bounds | silent unless in debug mode | reported by the launch, on every device |
| int with float operand | refused | promotes |
| `x: wp.float32 = 0.0` in a kernel | unsupported | declares the type |
| one bad kernel in a file | stops every kernel of the file | stops that kernel |
| a shift by more than the width | undefined | the count is taken modulo the width |
| float to integer | C's rules | saturates, NaN gives 0 |
| `wp.min`, `wp.max` with NaN | the other operand | as Python: `min(a, b)` is `b if b < a else a` |

Results of single builtins that differ are on [a page of their own](differences.md).
"""


def migration_pages() -> dict[str, str]:
    """Path to Markdown: the one page."""
    lines = [_INTRODUCTION]
    for kind, heading in _HEADINGS.items():
        lines += [f"## {heading}", ""]
        for construct in CONSTRUCTS.values():
            if construct.kind is kind:
                lines += [*_section(construct), ""]
    return {PATH: "\n".join([*lines, _NO_CHANGE])}


def _section(construct: Construct) -> Iterator[str]:
    yield f"### {construct.title} {{#{construct.key}}}"
    yield ""
    yield construct.why
    yield ""
    yield f"**Instead:** {construct.remedy}."
    if construct.docs:
        yield ""
        yield f"[More about it]({construct.docs})"
    if construct.names:
        yield ""
        yield "Names: " + ", ".join(f"`{name}`" for name in construct.names)
