"""``pytest --heald-verify``: every kernel of a collected module is verified as one more test.

A refuted kernel fails.  One of which something is unknown is skipped, and the reason says what is
missing; with ``--heald-verify-strict`` it fails.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

_FLAGS = {
    "--heald-verify": "verify the kernels of collected modules with Heald's prover",
    "--heald-verify-strict": "the same, and what is unknown fails",
}


class Refused(Exception):
    """What is said of a kernel that does not pass."""


class KernelItem(pytest.Item):
    """The verification of one kernel."""

    def __init__(self, *, kernel: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self._kernel = kernel

    def runtest(self) -> None:
        """Verify, and fail or skip."""
        verify = import_module("heald.cli.verify")  # the prover is large: on first use
        outcome = verify.Outcome()
        verify.verify_kernel(self.name, self._kernel, outcome)
        outcome.settle()
        strict = self.config.getoption("--heald-verify-strict")
        text = "\n\n".join([*outcome.errors, *map(str, outcome.reports)])
        if outcome.exit_code(strict=strict):
            raise Refused(text)
        if not all(report.proved for report in outcome.reports):
            pytest.skip(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone; a fault of the prover with its traceback."""
        if isinstance(excinfo.value, Refused):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The file, and the name to show."""
        return self.path, None, self.name


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("heald")
    for flag, meaning in _FLAGS.items():
        group.addoption(flag, action="store_true", default=False, help=meaning)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> pytest.Item | None:
    """A test for a kernel that the module defines."""
    if not any(collector.config.getoption(flag) for flag in _FLAGS):
        return None
    kernel = import_module("heald.api.kernel").Kernel
    if not isinstance(obj, kernel) or obj.__module__ != collector.obj.__name__:
        return None
    item: KernelItem = KernelItem.from_parent(collector, name=f"{name}[verify]", kernel=obj)
    return item
