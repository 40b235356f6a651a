"""Modules written to disk and imported as if a process had just started."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import sys
import textwrap
from pathlib import Path
from types import ModuleType

from heald.api import function

HEAD = """
    import enum, math, typing, types, functools, collections
    import numpy as np
    import heald as wp
"""


class Writer:
    """Writes modules into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count()

    def module(self, text: str, file: str = "user.py") -> ModuleType:
        """The module of a text; an earlier one of the same file is forgotten."""
        path = self.folder / file
        path.write_text(textwrap.dedent(HEAD) + textwrap.dedent(text))
        linecache.clearcache()
        function._REGISTRY.clear()  # or a second definition would be an overload
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        exec(compile(path.read_text(), str(path), "exec"), vars(module))
        return module

    def forget(self) -> None:
        """Take the modules out of Python's table."""
        for name, module in tuple(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(str(self.folder)):
                del sys.modules[name]
