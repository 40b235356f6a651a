"""Random source kernels: interpreter = serial = Python = every pass = machine code, bit for bit.

The hypothesis profile says how many: ``dev`` and ``nightly`` draw new seeds in every run, ``ci``
always takes the same.  ``HEALD_MEANING_SEED`` sets the first seed, to run a failure again.
"""

from __future__ import annotations

import os
import secrets

import hypothesis
import pytest
from meaning.checking import case_of, examine, examine_in_parallel
from meaning.expressions import Knobs
from meaning.running import Mismatch, interpret
from meaning.shrinking import shrink
from meaning.sources import Source, generate

PROFILE = hypothesis.settings()
SHARES = 10
EACH = -(-3 * PROFILE.max_examples // (2 * SHARES))
"""Kernels of one test; one takes a third of a second."""


def first_seed() -> int:
    given = os.environ.get("HEALD_MEANING_SEED")
    if given is not None:
        return int(given)
    return 0 if PROFILE.derandomize else secrets.randbelow(1 << 40)


FIRST = first_seed()


def outcome(source: Source, seed: int) -> tuple[str, str] | None:
    """How a kernel fails: the exception, and what of it stays the same while it shrinks."""
    try:
        examine(case_of(source, seed))
    except Exception as error:  # noqa: BLE001 - whatever comes is the finding
        return type(error).__name__, str(error).split(":")[0]
    return None


def report(source: Source, seed: int) -> str:
    """The smallest kernel found that fails as this one does, and its failure."""
    wanted = outcome(source, seed)
    text = shrink(source.text, lambda t: outcome(Source(t, source.knobs), seed) == wanted)
    try:
        examine(case_of(Source(text, source.knobs), seed))
    except Exception as error:  # noqa: BLE001
        return f"seed {seed}, {source.knobs}\n\n{text}\n{type(error).__name__}: {error}"
    return f"seed {seed}: {wanted}, but not when run again\n\n{source.text}"


@pytest.mark.cpu
@pytest.mark.parametrize("share", range(SHARES))
def test_every_way_to_run_a_kernel_agrees(share: int) -> None:
    for number in range(EACH):
        seed = FIRST + share * EACH + number
        source = generate(seed)
        if outcome(source, seed) is not None:
            pytest.fail(f"HEALD_MEANING_SEED={seed}\n{report(source, seed)}", pytrace=False)


@pytest.mark.cpu
def test_cores_share_a_launch() -> None:
    """Thousands of threads, so that every core has work."""
    for seed in range(FIRST, FIRST + 1 + PROFILE.max_examples // 15):
        case = case_of(generate(seed), seed, scale=150)
        try:
            examine_in_parallel(case)
        except Mismatch as error:
            pytest.fail(f"HEALD_MEANING_SEED={seed}\n{case.text}\n{error}", pytrace=False)


def test_most_kernels_do_something() -> None:
    """Kernels that always fault, or never, would show little."""
    cases = [case_of(generate(seed), seed) for seed in range(60)]
    lefts = [interpret(case.kernel, case.dims, case.args) for case in cases]
    assert sum(left.fault is None for left in lefts) > 30
    assert sum(left.fault is not None for left in lefts) > 6


def test_a_seed_always_gives_the_same_kernel() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def test_a_failing_kernel_shrinks_to_what_fails() -> None:
    text = generate(3, Knobs()).text.replace(
        "wp.tid()", "wp.tid()\n    if i > 2:\n        t = 3 + i", 1
    )
    small = shrink(text, lambda tried: "3 + i" in tried)
    code = [line.strip() for line in small.splitlines() if line and line[0] != "#"]
    assert code[-1] == "t = 3 + i"
    assert len(code) == 3
