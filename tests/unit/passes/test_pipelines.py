"""The runner: order, checks, traces, and who is to blame."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from unit.passes.launches import kernel_of

from heald.diagnostics import InternalError
from heald.ir import Kernel, Region, parse
from heald.ops import TABLE
from heald.passes import (
    FRONT,
    NORMAL,
    SCALAR_CPU,
    drop_dead,
    fold_constants,
    pass_name,
    run_pipeline,
    unroll_loops,
)

TEXT = "%i: i32 = tid [axis=0]\n%0: f32 = fadd %x, %y\nstore %a, %i, %x"


def break_it(kernel: Kernel) -> Kernel:
    """A pass with a bug: it takes the first op away, which others read."""
    return replace(kernel, body=Region((), kernel.body.ops[1:]))


def crash(kernel: Kernel) -> Kernel:
    raise KeyError("lost")


def test_passes_run_in_order_and_are_traced():
    seen = []
    kernel = kernel_of(TEXT)
    after = run_pipeline(
        kernel,
        (fold_constants, drop_dead),
        check=True,
        trace=lambda name, k: seen.append((name, len(k.body.ops))),
    )
    assert seen == [("fold_constants", 4), ("drop_dead", 3)]
    assert len(after.body.ops) == 3


def test_a_pass_that_breaks_the_kernel_is_named_and_both_kernels_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kernel = kernel_of(TEXT)
    with pytest.raises(InternalError, match="pass break_it broke kernel @k") as caught:
        run_pipeline(kernel, (fold_constants, break_it, drop_dead), check=True)
    assert "is not defined before this use" in str(caught.value)
    (folder,) = Path(tmp_path).iterdir()
    assert str(folder) in str(caught.value)
    before = parse((folder / "before.wir").read_text(encoding="utf-8"), TABLE)
    assert len(before.body.ops) == 4
    assert "tid" not in (folder / "after.wir").read_text(encoding="utf-8")


def test_without_checks_nothing_is_looked_at():
    after = run_pipeline(kernel_of(TEXT), (break_it,), check=False)
    assert len(after.body.ops) == 3


def test_a_pass_that_raises_is_named():
    with pytest.raises(KeyError) as caught:
        run_pipeline(kernel_of(TEXT), (fold_constants, crash), check=True)
    assert caught.value.__notes__ == ["in pass crash on kernel @k"]


def test_it_can_stop_early():
    kernel = kernel_of(TEXT)
    after = run_pipeline(kernel, FRONT, check=True, stop_after="fold_constants")
    assert len(after.body.ops) == 4
    with pytest.raises(InternalError, match="no pass 'drop_death' here; the passes are forward"):
        run_pipeline(kernel, FRONT, check=True, stop_after="drop_death")


def test_options_keep_the_name_of_a_pass():
    assert pass_name(partial(partial(unroll_loops, trips=4), budget=9)) == "unroll_loops"


def test_a_kernel_of_two_lines_survives_every_pipeline():
    kernel = kernel_of(TEXT)
    for pipeline in (FRONT, SCALAR_CPU, NORMAL):
        after = run_pipeline(kernel, pipeline, check=True)
        assert [op.name for op in after.body.ops] == ["tid", "store", "return"]
