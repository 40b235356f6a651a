"""The settings of one kernel or module, which win over those of ``wp.config``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heald.config import config, parse_setting
from heald.diagnostics import Diagnostic, TypingError

OPTION_NAMES = frozenset(
    {
        "check_contracts",
        "enable_backward",
        "fast_math",
        "mode",
        "safety",
        "strict_fp",
        "warp_reduce",
    }
)
"""What `@wp.kernel(...)` and `wp.set_module_options` take."""


class Settings(dict[str, Any]):
    """A dictionary that tells ``wp.config`` of every change, since launches keep what follows from
    all settings together.

    None stands for a setting that is left to others.

    Raises:
        TypingError: a setting that does not exist, or a value that it does not take (H0707).
    """

    __slots__ = ()

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        super().__init__(_checked(given or {}))

    def __setitem__(self, name: str, value: Any) -> None:
        super().update(_checked({name: value}))
        config.touch()

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        config.touch()

    def __ior__(self, other: Any) -> Settings:  # type: ignore[override,misc]
        self.update(other)
        return self

    def update(self, *args: Mapping[str, Any], **options: Any) -> None:  # type: ignore[override]
        """As that of a dictionary."""
        super().update(_checked(dict(*args, **options)))
        config.touch()

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As that of a dictionary."""
        if name not in self:
            self[name] = default
        return self[name]

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


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with their values as ``wp.config`` keeps them."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in OPTION_NAMES:
            message = f"there is no option '{name}' for kernels"
            hint = f"the options are {', '.join(sorted(OPTION_NAMES))}"
            raise TypingError(Diagnostic("H0707", message, hint=hint))
        try:
            found[name] = None if value is None else parse_setting(name, value)
        except ValueError as error:
            message = f"option '{name}' of kernels cannot be {value!r}: {error}"
            raise TypingError(Diagnostic("H0707", message)) from None
    return found
