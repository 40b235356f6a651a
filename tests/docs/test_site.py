"""The pages of the site that are made from the code.  ``.ci/run`` builds the site itself."""

from __future__ import annotations

import importlib
import re
import textwrap

import pytest
from docs.language_cases import CASES
from docs.pages import ROOT
from sitegen import generated_pages, navigation
from sitegen.api import public_names
from typer.main import get_command

import heald as wp
from heald.cli.app import app
from heald.cli.builtins import accuracy_text
from heald.cli.migration import CONSTRUCTS
from heald.library.registry import load_topics

PAGES = generated_pages()
WRITTEN = {
    str(p.relative_to(ROOT / "docs")): p.read_text(encoding="utf-8")
    for p in (ROOT / "docs").rglob("*.md")
}
SECTIONS = {
    match[1]: match[2]
    for path, text in PAGES.items()
    if path.startswith("builtins/") and not path.endswith("index.md")
    for match in re.finditer(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
}
PUBLIC = {name for name, builtin in load_topics().items() if builtin.group != "Protocols"}


def test_every_builtin_has_one_section() -> None:
    headings = [
        name
        for path, text in PAGES.items()
        if path.startswith("builtins/") and not path.endswith("index.md")
        for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)
    ]
    assert sorted(headings) == sorted(PUBLIC)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_section_shows_signatures_accuracy_and_the_functions_themselves(name: str) -> None:
    builtin, text = load_topics()[name], SECTIONS[name]
    assert text.count(f"wp.{name}(") >= len(builtin.records)
    assert "**Accuracy:** " in text
    source = text.partition('??? abstract "View source"')[2]
    fast = [record.fast for record in builtin.records if record.fast is not None]
    functions = {record.function for record in (*builtin.records, *fast)}
    assert source.count(f"def {name}(") == len(functions)
    assert len(
        re.findall(r"\*\*(?:float32|float16 and bfloat16) with `fast_math`:\*\* ", text)
    ) == len(fast)
    assert "```pycon" in text or ">>>" not in builtin.doc
    for literal in re.findall(r"``(.+?)``", builtin.doc.partition(">>>")[0], re.DOTALL):
        assert f"`{literal}`" in text


def test_a_section_as_a_whole() -> None:
    text = SECTIONS["lerp"]
    assert text.startswith(
        "\n```python\nwp.lerp(a: Float, b: Float, t: Float) -> Float\n"
        "wp.lerp(a: vector(length=N, dtype=Float), b: vector(length=N, dtype=Float), "
    )
    assert "[`normalize`](vector-math.md#normalize)" in text
    assert "```pycon\n>>> wp.lerp(2.0, 4.0, 0.25)\n2.5\n```" in text
    assert "**Accuracy:** 2 roundings of the largest term\n" in text
    assert "    `src/heald/library/interpolation.py`\n" in text
    assert "    def lerp(a: Float, b: Float, t: Float) -> Float:\n" in text
    assert "    return a * (1 - t) + b * t\n" in text
    assert "**For** quat of length one" in SECTIONS["quat_rotate"]
    first, second = (accuracy_text(r.accuracy) for r in load_topics()["sin"].records[:2])
    assert f"**Accuracy:** {first} for `float32`; {second} for `float64`" in SECTIONS["sin"]


def test_links_between_builtins_lead_somewhere() -> None:
    for path, text in PAGES.items():
        if path.startswith("builtins/"):
            for file, name in re.findall(r"\]\(([\w-]+\.md)#(\w+)\)", text):
                assert f"\n## {name}\n" in PAGES[f"builtins/{file}"]


def test_no_page_leads_to_one_that_the_site_leaves_out() -> None:
    """``mkdocs build --strict`` lets such links pass."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    left_out = [ROOT / "docs" / p for p in re.findall(r"^exclude_docs: (\S+)$", settings, re.M)]
    assert left_out
    for page, text in WRITTEN.items():
        folder = (ROOT / "docs" / page).parent
        for target in re.findall(r"\]\(([^)#:]+\.md)", text):
            assert (folder / target).resolve() not in left_out, f"{page}: {target}"


def test_every_public_name_is_in_the_python_reference_once() -> None:
    api = "\n".join(text for path, text in PAGES.items() if path.startswith("api/"))
    shown = re.findall(
        r"heading: wp\.([\w.]+)$|^\| `wp\.(\w+)` \||^### wp\.(\w+)$", api, re.MULTILINE
    )
    names = [a or b or c for a, b, c in shown]
    assert len(names) == len(set(names))
    assert {n for n in names if "." not in n} == set(public_names())
    assert "utils.radix_sort_pairs" in names
    assert set(dir(wp)) - set(public_names()) - set(load_topics()) == {
        "Any",
        "__version__",
        "config",
    }


def test_every_command_and_option_is_on_the_page_of_commands() -> None:
    text = PAGES["commands.md"]
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        assert f"\n## {name}\n" in text
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            if parameter.name != "help" and parameter.param_type_name == "option":
                assert f"`{'`, `'.join(parameter.opts)}`" in section


def test_every_construct_of_migrate_has_the_section_that_reports_name() -> None:
    for construct in CONSTRUCTS.values():
        assert f" {{#{construct.key}}}\n" in PAGES["migrate.md"]
        file = construct.docs.partition("#")[0]
        assert not file or file in PAGES or file in WRITTEN


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {**WRITTEN, **PAGES}
    assert len(pages) == len(WRITTEN) + len(PAGES), "a generated page hides a written one"
    found: list[str] = []
    for entry in navigation(pages):
        for value in entry.values():
            found += [value] if isinstance(value, str) else value
    assert sorted(found) == sorted(set(pages) - {"adr/0000-template.md"})
    assert found[0] == "index.md"


def test_a_page_that_no_list_names_is_found() -> None:
    assert navigation({"index.md": "", "new.md": ""})[-1] == {"More": ["new.md"]}


def test_every_case_of_the_language_is_shown() -> None:
    text = PAGES["language-cases.md"]
    for section, rows in CASES.items():
        assert f"\n## {section}\n" in text
        for row, cases in rows.items():
            assert f"\n### {row}\n" in text
            for case in cases:
                assert textwrap.dedent(case.body).strip("\n") in text
    assert "Refused or failed: [H0108](errors/H0108.md)" in text
    assert "`n = [-7, -7]` gives `n = [-4, 2]`" in text


def test_code_in_tables_has_no_backslashes() -> None:
    pytest.importorskip("mkdocs")
    hooks = importlib.import_module("site_hooks")
    row = r"<td>:func:<code>a \| b</code></td><pre><code><a></a>x \| y</code></pre>"
    assert hooks.on_page_content(row) == (
        r"<td><code>a | b</code></td><pre><code><a></a>x \| y</code></pre>"
    )
