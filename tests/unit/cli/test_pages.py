"""``heald verify`` of Markdown pages: which blocks are run, and which kernels they give."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from heald.cli.app import app
from heald.cli.pages import blocks_of, run_page

runner = CliRunner()

PAGE = """# A page

```python
import heald as wp

N = 3
```

```sh
rm -r everything
```

```python
@wp.kernel
def move(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    if i < N:
        b[i] = a[i]
```

Now it forgets to look:

```python
@wp.kernel
def move(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i - N]


print("noise")
```

```text
noise
```
"""
REFUSED = """
```python
import heald as wp


@wp.kernel
def halves(n: wp.array(dtype=int)):
    n[0] = n[0] / 2


wp.launch(halves, dim=1, inputs=[wp.zeros(1, dtype=int)])
```

```text
error[CODE]: / of two integers is not allowed
```

```python
@wp.kernel
def fill(a: wp.array(dtype=float)):
    a[wp.tid()] = 1.0
```
"""


def verify(*arguments: object):
    return runner.invoke(app, ["verify", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "none.md").write_text("```python\nx = 1\n```\n")
    return tmp_path


def test_every_kernel_of_a_page_is_judged_at_its_line(folder) -> None:
    page = folder / "page.md"
    found = verify(page, "--format", "json")
    assert found.exit_code == 1
    first, second = json.loads(found.stdout)
    assert [r["kernel"] for r in (first, second)] == ["move", "move"]
    assert [r["verdict"] for r in (first, second)] == ["proved under conditions", "refuted"]
    lines = PAGE.splitlines()
    for report in (first, second):
        assert report["place"]["file"] == str(page)
        assert lines[report["place"]["line"] - 1].startswith(("@wp.kernel", "def move("))
    assert second["place"]["line"] > first["place"]["line"]
    assert "b[i] = a[i - N]\n" in verify(page).output


def test_only_line_feeds_end_lines(folder) -> None:
    page = folder / "page.md"
    page.write_text(PAGE.replace("N = 3", 'N, breaks = 3, "\u2028\x0c\x85"'), encoding="utf-8")
    assert [k.key for k in run_page(page).kernels] == ["move", "move"]
    assert "b[i] = a[i - N]\n" in verify(page).output


def test_a_kernel_of_a_page_can_be_chosen(folder) -> None:
    assert "2 kernels: " in verify(f"{folder / 'page.md'}::move").output
    missing = verify(f"{folder / 'page.md'}::nothing", folder / "page.md")
    assert missing.exit_code == 2
    assert "no kernel 'nothing'" in missing.output


def test_only_named_pages_are_run_and_others_may_lack_kernels(folder) -> None:
    assert "no kernels" in verify(folder).output
    alone = verify(folder / "none.md")
    assert alone.exit_code == 2
    assert "none.md: no kernels" in alone.output
    assert verify(folder / "none.md", folder / "page.md").exit_code == 1
    missing = verify(folder / "missing.md")
    assert missing.exit_code == 2
    assert "no file '" in missing.output


def test_a_page_that_fails_gives_what_was_made_before(folder) -> None:
    page = folder / "page.md"
    page.write_text(PAGE.replace('print("noise")', "undefined"))
    found = verify(page, "--format", "json")
    assert found.exit_code == 2
    assert [r["kernel"] for r in json.loads(found.stdout)] == ["move", "move"]
    assert "the block at line 23: NameError: name 'undefined'" in found.output


@pytest.mark.parametrize(("code", "made"), [("H0108", ["fill"]), ("H0101", ["halves"])])
def test_only_the_error_that_a_page_shows_is_expected(tmp_path, code: str, made: list[str]) -> None:
    path = tmp_path / "page.md"
    path.write_text(REFUSED.replace("CODE", code))
    page = run_page(path)
    assert [kernel.key for kernel in page.kernels] == made
    assert ("CompileError: error[H0108]: / of two integers" in page.error) == (code != "H0108")


def test_what_is_accepted_of_a_page(folder) -> None:
    entry = """[[tool.heald.verify.accepted]]
kernel = "page.md::move"
property = "bounds"
verdict = "refuted"
reason = "it is shown"
"""
    (folder / "pyproject.toml").write_text(entry)
    found = verify(folder / "page.md", "--strict", "--format", "markdown")
    assert found.exit_code == 0
    assert "page.md | accepted as refuted | bounds refuted: " in found.stdout
    (folder / "pyproject.toml").write_text(entry.replace("move", "gone"))
    assert "there is no kernel 'gone'" in verify(folder / "page.md").output


def test_blocks() -> None:
    found = blocks_of(PAGE)
    assert [b.language for b in found] == ["python", "sh", "python", "python", "text"]
    assert [b.output for b in found] == [None, None, None, "noise\n", None]
    assert [b.line for b in found[:2]] == [3, 9]
    outer = blocks_of('````markdown\n```python\nx\n```\n````\n\n```python title="a"\ny\n```\n')
    assert [(b.language, b.text) for b in outer] == [
        ("markdown", "```python\nx\n```\n"),
        ("python", "y\n"),
    ]
