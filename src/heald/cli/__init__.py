"""The ``heald`` command line."""

import sys
from importlib import import_module

from heald import __version__


def main() -> None:
    """Entry point of the ``heald`` script, whose parts are imported when they are needed."""
    if sys.argv[1:] in (["version"], ["--version"]):
        print(__version__)
        return
    import_module("heald.cli.app").main()


__all__ = ["main"]
