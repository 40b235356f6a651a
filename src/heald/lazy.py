"""Packages that load a module when one of its names is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Args:
        package: its full name.
        places: for each module of it, the names that the package takes from there.  No module may
            be called as one of the names: loading it would hide the name.
    """
    module_of = {name: module for module, names in places.items() for name in names.split()}
    hidden = module_of.keys() & places.keys()
    if hidden:
        raise ValueError(f"{package} has modules called as its names: {', '.join(sorted(hidden))}")

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
