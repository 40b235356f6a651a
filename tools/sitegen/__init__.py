"""Pages of the documentation site that are made from the code: nothing of it is committed.

Each module makes pages as a dictionary from path to Markdown; ``tools/site_hooks.py`` hands them to
MkDocs, and ``tests/docs/test_site.py`` reads them without it.
"""

from sitegen.api import api_pages
from sitegen.builtins import builtin_pages
from sitegen.commands import command_pages
from sitegen.language import language_pages
from sitegen.migration import migration_pages
from sitegen.navigation import navigation


def generated_pages() -> dict[str, str]:
    """Every generated page: path within the site to Markdown."""
    return {
        **builtin_pages(),
        **api_pages(),
        **command_pages(),
        **language_pages(),
        **migration_pages(),
    }


__all__ = ["generated_pages", "navigation"]
