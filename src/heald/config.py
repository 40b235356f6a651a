"""Settings: defaults, overridden by the environment (``HEALD_*``), overridden by assigning
attributes.

``wp.config`` is this module's single ``Config`` object.  Unknown names are refused, so a typo is
never silent.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _flag(text: str) -> bool:
    value = text.strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError("expected one of 1, 0, true, false, yes, no, on, off")


def _choice(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"expected one of {', '.join(names)}")
        return text

    return parse


def _integer(text: str, least: int, expected: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ValueError(f"expected {expected}")
    return number


def _threads(text: str) -> int:
    return _integer(text, 0, "0 (all cores) or a positive number")


def _node(text: str) -> int:
    return _integer(text, 0, "the number of a NUMA node, from 0")


def _bytes(text: str) -> int:
    return _integer(text, 0, "a number of bytes, 0 for no kernel cache on disk")


def _default_cache() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return "" if base.startswith("~") else str(Path(base) / "heald")  # "~" of a user without a home


# name -> (environment variable, parser of its text, default)
_SETTINGS: dict[str, tuple[str | None, Callable[[str], Any], Any]] = {
    "kernel_cache_dir": ("HEALD_CACHE_DIR", str, None),
    "kernel_cache_size": ("HEALD_CACHE_SIZE", _bytes, 1 << 30),
    "debug": ("HEALD_DEBUG", _flag, False),
    "check": ("HEALD_CHECK", _flag, False),
    "hints": ("HEALD_HINTS", _flag, False),
    "verify_cuda": ("HEALD_VERIFY_CUDA", _flag, False),
    "fast_math": ("HEALD_FAST_MATH", _flag, False),
    "strict_fp": ("HEALD_STRICT_FP", _flag, False),
    "warp_reduce": ("HEALD_WARP_REDUCE", _flag, False),
    "safety": ("HEALD_SAFETY", _choice("auto", "guarded", "strict", "unchecked"), "auto"),
    "check_contracts": ("HEALD_CHECK_CONTRACTS", _flag, False),
    "num_threads": ("HEALD_NUM_THREADS", _threads, 0),
    "numa_node": ("HEALD_NUMA_NODE", _node, None),
    "traceback": ("HEALD_TRACEBACK", _choice("short", "full"), "short"),
    "allow_slow_fma": ("HEALD_ALLOW_SLOW_FMA", _flag, False),
    "quiet": (None, _flag, False),
    "verbose": (None, _flag, False),
    "mode": (None, _choice("release", "debug"), "release"),
    "enable_backward": (None, _flag, True),
    "verify_fp": (None, _flag, False),
}


SETTING_VARIABLES = frozenset(v for v, _, _ in _SETTINGS.values() if v)
"""The environment variables that are known."""


def parse_setting(name: str, value: Any) -> Any:
    """The value of a setting from what a user gives for it.

    Raises:
        ValueError: saying what was expected.
    """
    _, parse, _ = _SETTINGS[name]
    if parse is str and not isinstance(value, (str, os.PathLike)):
        raise ValueError("expected a path")
    return parse(os.fspath(value) if isinstance(value, os.PathLike) else str(value))


class Config:
    """The settings of this process; see the table in ``heald.config`` for names and variables."""

    __slots__ = (*_SETTINGS, "revision")

    kernel_cache_dir: str
    kernel_cache_size: int
    debug: bool
    check: bool
    hints: bool
    verify_cuda: bool
    fast_math: bool
    strict_fp: bool
    warp_reduce: bool
    safety: str
    check_contracts: bool
    num_threads: int
    numa_node: int | None
    traceback: str
    allow_slow_fma: bool
    quiet: bool
    verbose: bool
    mode: str
    enable_backward: bool
    verify_fp: bool
    revision: object
    """An object that is replaced whenever a setting has changed, for those who keep what they
    derived."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Return every setting to its environment variable or default."""
        for name, (variable, parse, default) in _SETTINGS.items():
            text = os.environ.get(variable) if variable else None
            value = default
            if text is not None:
                try:
                    value = parse(text)
                except ValueError as error:
                    raise ValueError(
                        f"environment variable {variable}={text!r}: {error}; correct or unset it"
                    ) from None
            object.__setattr__(self, name, value)
        if self.kernel_cache_dir is None:
            self.kernel_cache_dir = _default_cache()
        self.touch()

    def touch(self) -> None:
        """Say that settings have changed, these or ones that win over them."""
        object.__setattr__(self, "revision", object())

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _SETTINGS:
            known = ", ".join(sorted(_SETTINGS))
            raise AttributeError(f"wp.config has no setting {name!r}; it has {known}")
        default = _SETTINGS[name][2]
        if value is not None or default is not None:
            try:
                value = parse_setting(name, value)
            except ValueError as error:
                raise ValueError(f"wp.config.{name} = {value!r}: {error}") from None
        elif name == "kernel_cache_dir":
            value = _default_cache()
        object.__setattr__(self, name, value)
        self.touch()

    def __repr__(self) -> str:
        return "\n".join(f"{name} = {getattr(self, name)!r}" for name in sorted(_SETTINGS))


config = Config()
