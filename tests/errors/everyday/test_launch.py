"""Mistakes at launches that everybody makes once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from errors.everyday.checks import refused

import heald as wp


@wp.kernel
def fill(a: wp.array(dtype=wp.float64), value: float):
    a[wp.tid()] = wp.float64(value)


@wp.kernel
def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)):
    i = wp.tid()
    count = 0
    for _ in wp.hash_grid_query(grid, points[i], 0.1):
        count += 1
    counts[i] = count


@pytest.fixture
def hints() -> Iterator[None]:
    wp.config.hints = True
    yield
    wp.config.hints = False


def test_float32_array_for_a_float64_parameter() -> None:
    with refused("H0702", "'a'", "float64", "float32", remedy="dtype=float64"):
        wp.launch(fill, dim=4, inputs=[wp.zeros(4, dtype=float), 1.0])


def test_wrong_rank() -> None:
    with refused("H0703", "'a'", "shape (2, 2)", remedy="reshape"):
        wp.launch(fill, dim=4, inputs=[wp.zeros((2, 2), dtype=wp.float64), 1.0])


def test_array_of_another_device() -> None:
    there = wp.zeros(4, dtype=wp.float64, device="sim")
    with refused("H0704", "'sim'", "'cpu'", remedy=".to('cpu')"):
        wp.launch(fill, dim=4, inputs=[there, 1.0])


@pytest.mark.parametrize(("more", "said"), [((), "1 given"), ((1.0, 2.0), "3 given")])
def test_missing_or_extra_argument(more: tuple[float, ...], said: str) -> None:
    a = wp.zeros(4, dtype=wp.float64)
    with refused("H0701", said, remedy="a, value"):
        wp.launch(fill, dim=4, inputs=[a, *more])


def test_dim_taken_for_blocks_and_threads() -> None:
    a = wp.zeros(1024, dtype=wp.float64)
    with refused("H0706", "(4, 256)", remedy="dim counts threads: 1024"):
        wp.launch(fill, dim=(4, 256), inputs=[a, 1.0])


@pytest.mark.usefixtures("hints")
def test_dim_taken_for_a_number_of_blocks() -> None:
    fill.prepare()
    a = wp.zeros(1024, dtype=wp.float64)
    with pytest.warns(wp.Hint, match=r"H1003[\s\S]*dim counts threads") as caught:
        wp.launch(fill, dim=4, inputs=[a, 1.0], block_dim=256)
    assert caught[0].filename == __file__


@pytest.mark.usefixtures("hints")
@pytest.mark.parametrize("record_cmd", [False, True])
def test_dim_taken_for_the_size_of_a_block(record_cmd: bool) -> None:
    fill.prepare()
    a = wp.zeros(1 << 20, dtype=wp.float64)
    with pytest.warns(
        wp.Hint, match=r"H1003[\s\S]*one block[\s\S]*all threads, not those of"
    ) as caught:
        wp.launch(fill, dim=256, inputs=[a, 1.0], record_cmd=record_cmd)
    assert caught[0].filename == __file__


def test_block_too_large() -> None:
    a = wp.zeros(4, dtype=wp.float64)
    with refused("H0706", "block_dim", "2048", remedy="blocks of 256"):
        wp.launch(fill, dim=4, inputs=[a, 1.0], block_dim=2048)


@pytest.mark.usefixtures("hints")
def test_a_storm_of_small_launches() -> None:
    fill.prepare()
    a = wp.zeros(4, dtype=wp.float64)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2000):
            wp.launch(fill, dim=4, inputs=[a, 1.0])
    (hint,) = [str(w.message) for w in caught if "H1001" in str(w.message)]
    assert "record_cmd" in hint


@pytest.mark.usefixtures("hints")
def test_a_cold_first_frame() -> None:
    @wp.kernel
    def fresh(a: wp.array(dtype=float)):
        a[wp.tid()] = 1.0

    with pytest.warns(wp.Hint, match=r"H1002[\s\S]*kernel\.prepare\(\)"):
        wp.launch(fresh, dim=4, inputs=[wp.zeros(4, dtype=float)])


def query(grid: object, points: wp.array) -> None:
    counts = wp.zeros(points.size, dtype=int)
    wp.launch(neighbours, dim=points.size, inputs=[grid, points, counts])


def test_a_grid_instead_of_its_handle() -> None:
    grid, points = wp.HashGrid(4, 4, 4), wp.zeros(3, dtype=wp.vec3)
    grid.build(points, 1.0)
    with refused("H0702", "'grid'", "uint64", remedy=".id"):
        query(grid, points)


def test_points_of_another_device() -> None:
    with refused("H0704", "'sim'", "'cpu'", remedy=".to('cpu')"):
        wp.HashGrid(4, 4, 4).build(wp.zeros(3, dtype=wp.vec3, device="sim"), 1.0)


def test_an_array_where_a_number_is_needed() -> None:
    a = wp.zeros(4, dtype=wp.float64)
    for given in (wp.zeros(1), np.zeros(4, np.float32)):
        with refused("H0702", "'value'", remedy="one element"):
            wp.launch(fill, dim=4, inputs=[a, given])


def test_hash_grid_not_built() -> None:
    with refused("H0714", "not built", remedy="grid.build"):
        query(wp.HashGrid(4, 4, 4).id, wp.zeros(3, dtype=wp.vec3))


def test_more_points_than_the_grid_was_made_for() -> None:
    grid = wp.HashGrid(4, 4, 4, max_points=10)
    with refused("H0714", "11 points", "at most 10", remedy="larger max_points"):
        grid.build(wp.zeros(11, dtype=wp.vec3), 1.0)


def test_stale_handle() -> None:
    points = wp.array(np.zeros((3, 3), np.float32), dtype=wp.vec3)
    grid = wp.HashGrid(4, 4, 4)
    grid.build(points, 0.1)
    stale = grid.id
    del grid
    with refused("H0406", "does not exist", remedy="keep the object"):
        query(stale, points)


def test_a_list_where_an_array_is_needed() -> None:
    with refused("H0702", "list", remedy="wp.array(...)"):
        wp.launch(fill, dim=4, inputs=[[1.0, 2.0], 1.0])
