"""The ``heald`` command line."""

from heald.cli.app import main

__all__ = ["main"]
