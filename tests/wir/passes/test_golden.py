"""Each pass on small kernels: ``cases/<pass>.<case>.wir`` becomes the same in ``expected/``."""

from functools import partial
from pathlib import Path

import pytest
from unit.passes.launches import assert_same, launches_of

from heald.ir import check, parse, to_text
from heald.ops import TABLE
from heald.passes import FRONT, NORMAL, SCALAR_CPU, analyse_intervals, pipelines, run_pipeline
from heald.passes import guard as guard_pass
from heald.passes.pipelines import AHEAD

CASES = sorted((Path(__file__).parent / "cases").glob("*.wir"))
PASSES = {f.__name__: f for f in (*FRONT, *NORMAL, *AHEAD)}


def guard_bounds(kernel):
    return guard_pass(kernel, proofs=analyse_intervals(kernel).verdicts(kernel), bounds=True)


def guard(kernel):
    return guard_pass(kernel, proofs=analyse_intervals(kernel).verdicts(kernel))


PASSES |= {
    "guard": guard,
    "guard_bounds": guard_bounds,
    "front": partial(run_pipeline, passes=FRONT, check=True),
    "scalar_cpu": partial(run_pipeline, passes=SCALAR_CPU, check=True),
    "normal": partial(run_pipeline, passes=NORMAL, check=True),
}


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_golden(path, golden):
    kernel = parse(path.read_text(encoding="utf-8"), TABLE)
    check(kernel, TABLE)
    after = PASSES[path.stem.partition(".")[0]](kernel)
    check(after, TABLE)
    golden(path.name, to_text(after))
    if not path.stem.startswith("guard_bounds"):  # which may run where its condition holds only
        assert_same(kernel, after, launches_of(kernel, 11))


def test_every_pass_has_a_case():
    tried = {path.stem.partition(".")[0] for path in CASES}
    every = {pipelines.pass_name(f) for f in (*FRONT, *SCALAR_CPU, *NORMAL, *AHEAD)}
    assert every | {"guard"} <= tried
