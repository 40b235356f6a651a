"""The ``heald`` command line."""

from importlib import import_module


def main() -> None:
    """Entry point of the ``heald`` script, whose parts are imported when it runs."""
    import_module("heald.cli.app").main()


__all__ = ["main"]
