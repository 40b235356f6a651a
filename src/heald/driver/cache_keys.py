"""Keys of the kernel cache: SHA-256 over everything that a result depends on.

Every key begins with the identity of this Heald and ends with what the caller adds, each part
preceded by its length, so that no two lists of parts run together.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np

from heald.codegen import Target, host_target, llvm_version

FORMAT = 1
"""Raised when entries mean something else under equal keys."""


def make_key(*parts: str | bytes) -> str:
    """The key of a list of parts, 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in (build_identity(), *parts):
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


@cache
def build_identity() -> bytes:
    """This Heald, this Python and this numpy: whatever decides what comes out of equal source.

    Heald's files count by place, size and time of change, so that a working copy that is edited
    starts anew; its version counts by its text.
    """
    package = Path(__file__).parent.parent
    files: list[tuple[str, int, int]] = []
    _list_files(str(package), files)
    version = (package / "__init__.py").read_bytes()
    python = (sys.implementation.name, sys.version)
    return repr((FORMAT, version, sorted(files), python, np.__version__)).encode()


def _list_files(folder: str, found: list[tuple[str, int, int]]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                info = entry.stat()
                found.append((entry.path, info.st_mtime_ns, info.st_size))
            elif entry.is_dir() and entry.name != "__pycache__":
                _list_files(entry.path, found)


def code_identity() -> str:
    """The processor that code is made for, and the LLVM that makes it."""
    return _code_identity(host_target())


@cache
def _code_identity(target: Target) -> str:
    return repr((target, llvm_version()))
