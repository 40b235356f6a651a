"""Heald: a GPU kernel language inside Python."""

__version__ = "0.1.0"
