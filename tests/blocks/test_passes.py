"""The passes for blocks keep every bit: the interpreter runs what each of them makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blocks.features import FEATURES
from blocks.kernels import CASES, Case
from blocks.sources import Source
from blocks.test_random import load
from unit.frontend.harness import lower

import heald as wp
from heald.diagnostics import CompileError, Span
from heald.interp import ArrayView, run
from heald.ir import Kernel, check, equal, parse, to_text, walk
from heald.library.registry import helper
from heald.ops import TABLE
from heald.passes import FRONT, SCALAR_CPU, guard, run_pipeline
from heald.passes.layout import assume_unit
from heald.passes.normalise_exits import normalise_exits
from heald.passes.pipelines import BLOCKS, PHASES
from heald.passes.place_barriers import place_barriers
from heald.passes.refuse_divergence import refuse_divergence
from heald.passes.widen_phases import widen_phases
from heald.types import Array

SEEDS = range(100, 110)


def stages(kernel: Any) -> tuple[Kernel, Kernel, Kernel]:
    """As lowered, with votes, and as a program of whole blocks."""
    placed = run_pipeline(lower(kernel), (*FRONT, place_barriers), check=True)
    guarded = guard(placed)
    lowered = run_pipeline(guarded, SCALAR_CPU, check=True)
    voting = run_pipeline(lowered, BLOCKS, check=True)
    phases = run_pipeline(voting, PHASES, check=True)
    return lowered, voting, phases


def leave(kernel: Kernel, case: Case) -> list[bytes]:
    """What is in the arrays after the interpreter has run a kernel."""
    dims = case.dim if isinstance(case.dim, tuple) else (case.dim,)
    buffers: list[Any] = []
    args: list[Any] = []
    for p, x in zip(kernel.params, case.arrays.values(), strict=True):
        if isinstance(p.type, Array):
            buffers.append(x.copy())
            args.append(ArrayView.from_numpy(buffers[-1], p.type.dtype))
        else:
            args.append(x)
    outcome = run(kernel, dims, args, block_dim=case.block_dim)
    assert outcome.faults == ()
    return [b.tobytes() for b in buffers]


@pytest.mark.parametrize("name", [*CASES, *FEATURES])
def test_every_stage_means_the_same(name: str) -> None:
    case = CASES.get(name) or FEATURES[name]
    lowered, voting, phases = stages(case.kernel)
    wanted = leave(lowered, case)
    assert leave(voting, case) == wanted
    assert leave(phases, case) == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels_mean_the_same(seed: int, tmp_path: Path) -> None:
    kernel = load(tmp_path / f"random_blocks_{seed}.py", seed)
    random = np.random.default_rng(seed)
    v, w = random.integers(-9, 9, 70).astype(np.int32), random.random(70, dtype=np.float32)
    case = Case(kernel, 70, 40, {"v": v, "w": w})
    lowered, voting, phases = stages(kernel)
    wanted = leave(lowered, case)
    assert leave(voting, case) == wanted
    assert leave(phases, case) == wanted


def test_sources_use_every_statement() -> None:
    """Otherwise a change of the generator could test less and nobody would notice."""
    text = "".join(Source(seed).text() for seed in range(200))
    for part in (
        "block_sync",
        "shuffle_idx",
        "ballot",
        "scope='block'",
        "bins[",
        "while ",
        "break",
    ):
        assert part in text


@pytest.mark.parametrize("name", ["tree_sum", "agreed_branch"])
def test_the_stages_as_text(name: str, golden: Callable[[str, str], None]) -> None:
    _, voting, phases = stages(CASES[name].kernel)
    for stage, kernel in (("voting", voting), ("phases", phases)):
        golden(f"{name}.{stage}.wir", to_text(kernel))
        assert equal(kernel, parse(to_text(kernel), TABLE))


def test_phases_meet_nowhere() -> None:
    for case in CASES.values():
        _, _, phases = stages(case.kernel)
        names = {op.name for op in walk(phases.body)}
        assert "threads" in names
        assert names.isdisjoint({"block_sync", "shuffle", "vote"})


def test_conditions_of_a_block_need_no_vote() -> None:
    _, voting, _ = stages(CASES["tree_sum"].kernel)
    assert all(op.name != "vote" for op in walk(voting.body))
    _, voting, _ = stages(CASES["agreed_branch"].kernel)
    assert sum(op.name == "vote" for op in walk(voting.body)) == 4


def test_barriers_stand_where_accesses_conflict(golden: Callable[[str, str], None]) -> None:
    kernel = run_pipeline(lower(CASES["automatic_tree"].kernel), FRONT, check=True)
    placed = run_pipeline(kernel, (place_barriers,), check=True)
    golden("automatic_tree.placed.wir", to_text(placed))
    assert place_barriers(placed) is placed


@pytest.mark.parametrize("name", ["tiled_bodies", "tiled_columns"])
def test_long_phases_run_several_threads_at_once(name: str) -> None:
    case = FEATURES[name]
    _, _, phases = stages(case.kernel)
    assert widen_phases(phases, vector_bytes=32) is phases  # arrays might have any strides
    wide = widen_phases(assume_unit(phases), vector_bytes=32)
    check(wide, TABLE)
    widths = [op.attrs.get("width", 1) for op in walk(wide.body) if op.name == "threads"]
    assert max(widths) > 1
    assert min(widths) == 1
    assert leave(wide, case) == leave(phases, case)


@pytest.mark.parametrize("name", ["automatic_tree", "automatic_rounds"])
def test_what_is_behind_a_placed_barrier_keeps_its_place(name: str) -> None:
    """The parts of a branch that is cut stand where it does, not where the accesses do."""
    kernel = normalise_exits(run_pipeline(lower(CASES[name].kernel), FRONT, check=True))
    before, after = (
        {op.span for op in walk(k.body) if op.name in ("if", "for", "while")}
        for k in (kernel, place_barriers(kernel))
    )
    assert after == before


def test_a_branch_of_the_library_is_shown_at_its_call() -> None:
    @wp.kernel
    def only_the_first(a: wp.array(dtype=float)):
        if wp.thread_index() == 0:
            wp.block_sync()

    kernel = lower(only_the_first)
    (branch,) = (op for op in kernel.body.ops if op.name == "if")
    call = branch.span
    assert call is not None
    inside = replace(branch, span=Span(helper.__code__.co_filename, 9, 4, 9, 12).at_call(call))
    ops = tuple(inside if op is branch else op for op in kernel.body.ops)
    with pytest.raises(CompileError) as caught:
        refuse_divergence(replace(kernel, body=replace(kernel.body, ops=ops)))
    (diagnostic,) = caught.value.diagnostics
    (note,) = diagnostic.notes
    assert (note.text, note.span) == ("this branch parts the threads of every block", call)
