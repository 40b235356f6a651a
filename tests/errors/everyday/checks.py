"""What a test of an everyday error asks for: the right code, its page, and a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heald.diagnostics import HealdError

PAGES = Path(__file__).parents[3] / "docs" / "errors"


@contextmanager
def refused(code: str, *said: str, remedy: str) -> Iterator[None]:
    """Inside, Heald refuses something with ``code``: it says each of ``said``, and the hint or a
    note holds ``remedy``."""
    with pytest.raises(HealdError) as caught:
        yield
    found = [d for d in caught.value.diagnostics if d.code == code]
    assert found, f"{caught.value.codes} instead of {code}"
    text = found[0].render()
    for part in said:
        assert part in text, text
    advice = "\n".join([found[0].hint, *(note.text for note in found[0].notes)])
    assert remedy in advice, text
    assert (PAGES / f"{code}.md").exists()
