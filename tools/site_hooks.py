"""Hooks of MkDocs: add the generated pages, and order the navigation."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from sitegen import generated_pages, navigation

_PAGES = generated_pages()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Order the navigation: written and generated pages by part."""
    folder = Path(config.docs_dir)
    written = {str(p.relative_to(folder)): p.read_text("utf-8") for p in folder.rglob("*.md")}
    config.nav = navigation({**written, **_PAGES})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those that are written."""
    for path, text in _PAGES.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_content(html: str, **_: object) -> str:
    """Take the reStructuredText roles of docstrings off their names, and backslashes off the bars
    in code: tables need them on GitHub, where MkDocs shows them."""
    html = re.sub(r":(?:attr|class|data|exc|func|meth|mod):(<code>)", r"\1", html)
    return re.sub(r"<code>[^<]*</code>", lambda code: code[0].replace("\\|", "|"), html)
