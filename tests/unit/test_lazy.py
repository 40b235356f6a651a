"""Packages that load a module when one of their names is first asked for."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import heald
from heald.lazy import lazy_names

LAZY = [
    f"heald.{path.parent.relative_to(Path(heald.__path__[0])).as_posix().replace('/', '.')}"
    for path in sorted(Path(heald.__path__[0]).rglob("__init__.py"))
    if "lazy_names(" in path.read_text(encoding="utf-8")
]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = tmp_path / "lazy_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from heald.lazy import lazy_names\n"
        "__getattr__ = lazy_names(__name__, {'first': 'one two', 'second': 'three'})\n"
    )
    (folder / "first.py").write_text("one, two = 1, 2\n")
    (folder / "second.py").write_text("three = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lazy_package", "lazy_package.first", "lazy_package.second"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("lazy_package")


def test_a_name_loads_its_module_only(package: ModuleType) -> None:
    assert "lazy_package.first" not in sys.modules
    assert package.two == 2
    assert "lazy_package.first" in sys.modules
    assert "lazy_package.second" not in sys.modules
    assert vars(package)["two"] == 2


def test_other_names_are_refused(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'lazy_package' has no attribute 'four'"):
        package.four  # noqa: B018


def test_a_module_called_as_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="modules called as its names: scale"):
        lazy_names("package", {"scale": "grow", "other": "scale"})


@pytest.mark.parametrize("name", LAZY)
def test_every_name_is_there_and_hidden_by_no_module(name: str) -> None:
    package = importlib.import_module(name)
    folder = Path(package.__path__[0])
    assert package.__all__
    for public in package.__all__:
        assert getattr(package, public) is not None
        assert not (folder / f"{public}.py").exists()
        assert not (folder / public).exists()
