"""The page about NVIDIA Warp is what was measured, and what is measured is what stands there."""

import json
import os

import numpy as np
import pytest
from library.warp import reasons
from library.warp.differences import MEASURED, PAGE, apart, compared, lacking, measure, page


def test_the_page_is_the_one_that_is_built() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(MEASURED.read_text()))


def test_every_difference_has_a_reason_and_every_reason_a_difference() -> None:
    found = json.loads(MEASURED.read_text())
    fewer = {k: d for k, d in found["differ"].items() if d["name"] != "min"}
    with pytest.raises(ValueError, match=r"differ in \{'min'\}"):
        page({**found, "differ": fewer})
    more = {**found["differ"], "sin(f32)": {**found["differ"]["min(f32,f32)"], "name": "sin"}}
    with pytest.raises(ValueError, match=r"differ in \{'sin'\}"):
        page({**found, "differ": more})


def test_what_was_measured_is_the_library_of_today() -> None:
    """A builtin that was added since must be compared."""
    found = json.loads(MEASURED.read_text())
    assert {*found["equal"], *found["left"], *found["differ"]} == {str(i) for i in compared()}
    assert found["signatures"].keys() == reasons.LACKING.keys()


def test_a_signature_that_is_not_there_needs_a_reason() -> None:
    known = {name: [[("*args", "scalar")]] for name in reasons.LACKING}
    there = {
        "bit_and": [[("a", "matrix"), ("b", "matrix")], [("a", "tile"), ("b", "tile")]],
        "cast": [[("a", "any"), ("dtype", "any")]],
        "mesh_query_aabb": [[("id", "scalar")]],
    }
    assert lacking({**known, **there}).keys() == reasons.LACKING.keys()
    for given in ([("x", "vector")], [("y", "scalar")], [("x", "scalar"), ("y", "scalar")]):
        with pytest.raises(ValueError, match=r"differ in \{'sin'\}"):
            lacking({**known, "sin": [given]})
    with pytest.raises(ValueError, match=r"differ in \{'eig3'\}"):
        lacking({name: given for name, given in known.items() if name != "eig3"})


def test_roundings_are_no_difference_and_other_numbers_are() -> None:
    ours = np.array([[1.0], [np.nan], [np.inf], [0.0], [2.0]])
    theirs = np.array([[1.0 + 1e-6], [np.nan], [np.inf], [1e-3], [np.nan]])
    rows = [[[x]] for x in (1.0, 1.0, 1.0, 1.0, 1.0)]
    assert apart("f", rows, ours, theirs).tolist() == [False, False, False, True, True]


@pytest.mark.skipif("HEALD_WARP" not in os.environ, reason="HEALD_WARP names no Python with Warp")
def test_measured_again_it_is_the_same() -> None:
    assert measure(os.environ["HEALD_WARP"]) == json.loads(MEASURED.read_text())
