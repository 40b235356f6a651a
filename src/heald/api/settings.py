"""The settings of one kernel or module, which win over those of ``wp.config``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heald.config import config


class Settings(dict[str, Any]):
    """A dictionary that tells ``wp.config`` of every change, since launches keep what follows from
    all settings together."""

    __slots__ = ()

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        config.touch()

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        config.touch()

    def __ior__(self, other: Any) -> Settings:  # type: ignore[override,misc]
        self.update(other)
        return self

    def update(self, *args: Mapping[str, Any], **options: Any) -> None:  # type: ignore[override]
        """As that of a dictionary."""
        super().update(*args, **options)
        config.touch()

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As that of a dictionary."""
        found = super().setdefault(name, default)
        config.touch()
        return found

    def pop(self, *args: Any) -> Any:
        """As that of a dictionary."""
        found = super().pop(*args)
        config.touch()
        return found

    def popitem(self) -> tuple[str, Any]:
        """As that of a dictionary."""
        found = super().popitem()
        config.touch()
        return found

    def clear(self) -> None:
        """As that of a dictionary."""
        super().clear()
        config.touch()
