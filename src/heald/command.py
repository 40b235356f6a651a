"""Is this process the ``heald`` command?  Known before anything else of Heald is imported."""

from __future__ import annotations

import sys
from pathlib import Path

USAGE = 2
"""The exit code of the command for what its user has to write otherwise."""


def is_command() -> bool:
    """Is the package imported for the script ``heald``, or for ``python -m heald``?"""
    if sys.argv[:1] == ["-m"]:  # as it is until the module is found
        named = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]
        return named[-1:] in (["heald"], ["-mheald"])
    return bool(sys.argv) and Path(sys.argv[0]).stem == "heald"


def refuse(message: str) -> SystemExit:
    """Say what is wrong; gives the exit."""
    sys.stderr.write(f"heald: {message}\n")
    return SystemExit(USAGE)
