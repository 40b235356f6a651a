"""The page of settings has those that there are, with their variables and defaults."""

from docs.pages import ROOT

from heald.config import _SETTINGS

PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_every_setting_has_its_row() -> None:
    lines = [
        line for line in PAGE.splitlines() if line.startswith("| `") and "wp.config" not in line
    ]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    assert all(row[3] for row in rows), "every row says what the setting means"
    defaults = {"kernel_cache_dir": "~/.cache/heald", "numa_node": ""}
    assert sorted(row[:3] for row in rows) == sorted(
        [name, variable or "", defaults.get(name, repr(default))]
        for name, (variable, _, default) in _SETTINGS.items()
    )
