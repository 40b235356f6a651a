"""``heald doctor``: say how well this machine can run Heald."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from heald.cli.doctor_checks import Check, State

_STYLES = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red"}


def worst(checks: Sequence[Check]) -> State:
    """The worst state of all."""
    return max((c.state for c in checks), key=lambda state: state.rank, default=State.OK)


def json_text(checks: Sequence[Check]) -> str:
    """The report for programs."""
    records = [{**asdict(check), "state": check.state.value} for check in checks]
    return json.dumps({"state": worst(checks).value, "checks": records}, indent=2)


def show(checks: Sequence[Check], console: Console) -> None:
    """The report for people: a line for each check, remedies below, a summary."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        line = Text(f"{check.state.value:4}", _STYLES[check.state])
        line.append(f"  {check.name:{width}}  {check.value}", "default")
        console.print(line, soft_wrap=True)
        if check.remedy:
            console.print(Text(f"{'':{width + 8}}to do: {check.remedy}"), soft_wrap=True)
    console.print()
    console.print(_summary(checks))


def _summary(checks: Sequence[Check]) -> str:
    failed, warned = (
        sum(check.state is state for check in checks) for state in (State.FAIL, State.WARN)
    )
    if failed:
        return f"{_number(failed)} must be mended"
    return f"Heald works here; {_number(warned)} could be better" if warned else "Heald works here"


def _number(count: int) -> str:
    return "1 thing" if count == 1 else f"{count} things"
