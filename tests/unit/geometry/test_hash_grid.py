"""Hash grids against brute force, on every host device."""

import gc

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import Diagnostic

LIMIT = 512


@wp.kernel
def collect_stepwise(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    found: wp.array(dtype=int, ndim=2),
):
    i = wp.hash_grid_point_id(grid, wp.tid())
    query = wp.hash_grid_query(grid, points[i], radius)
    j = -7
    k = 0
    while wp.hash_grid_query_next(query, j):
        found[i, k] = j
        k += 1
    found[i, k] = -j


@wp.kernel
def collect(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    count: wp.array(dtype=int),
    found: wp.array(dtype=int, ndim=2),
):
    i = wp.tid()
    k = 0
    for j in wp.hash_grid_query(grid, points[i], radius):
        if k < found.shape[1]:
            found[i, k] = j
        k += 1
    count[i] = k


@pytest.fixture(params=["cpu", "sim"])
def device(request):
    return request.param


def query(points, radius, dims=(8, 8, 8), build_radius=None, device="cpu", **options):
    """For each point, the candidates in the order in which the query gives them."""
    with wp.ScopedDevice(device):
        p = wp.array(np.asarray(points, np.float32).reshape(-1, 3), dtype=wp.vec3)
        grid = wp.HashGrid(*dims, **options)
        grid.build(p, build_radius or radius)
        n = len(p)
        count = wp.zeros(n, dtype=int)
        found = wp.full((n, LIMIT), -1, dtype=int)
        wp.launch(collect, dim=n, inputs=[grid.id, p, radius, count, found])
        counts, table = count.numpy(), found.numpy()
    assert (counts <= LIMIT).all()
    return [table[i, : counts[i]] for i in range(n)]


def neighbours(points, radius):
    points = np.asarray(points, np.float32).astype(np.float64)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    return [set(np.flatnonzero(row <= radius)) for row in distance]


def check(points, radius, **options):
    for got, want in zip(query(points, radius, **options), neighbours(points, radius), strict=True):
        assert len(set(got)) == len(got), "a point came twice"
        assert want <= set(got), "a neighbour is missing"


CLOUDS = {
    "around zero": lambda rng: rng.normal(size=(200, 3)),
    "negative": lambda rng: rng.uniform(-9.0, -7.0, size=(200, 3)),
    "far away": lambda rng: rng.uniform(size=(200, 3)) + np.array([1e6, -1e6, 3e5]),
    "on cell borders": lambda rng: rng.integers(-4, 5, size=(200, 3)) * 0.5,
    "on a line": lambda rng: np.outer(np.linspace(-6, 6, 200), [1.0, 0.0, 0.0]),
    "all in one place": lambda rng: np.zeros((60, 3)),
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_neighbour_comes_once(cloud, device):
    points = CLOUDS[cloud](np.random.default_rng(3))
    check(points, 0.5, device=device)


@pytest.mark.parametrize("dims", [(1, 1, 1), (2, 3, 5), (1, 1, 64), (16, 1, 2), (7, 7, 7)])
def test_any_number_of_cells_gives_the_same_neighbours(dims, device):
    points = np.random.default_rng(5).normal(size=(150, 3)) * 2
    check(points, 0.8, dims=dims, device=device)


@pytest.mark.parametrize("radius", [0.05, 0.4, 3.0, 50.0])
def test_queries_of_other_radii_than_the_build(radius, device):
    points = np.random.default_rng(6).normal(size=(100, 3))
    check(points, radius, build_radius=0.4, device=device)


def cell(point, width, dims):
    return tuple(int(c) for c in np.floor(point / np.float32(width)).astype(int) % dims)


def test_cells_in_order_points_ascending():
    rng = np.random.default_rng(8)
    points = rng.uniform(0, 4, size=(300, 3)).astype(np.float32)
    width = 0.5
    for i, got in enumerate(query(points, width, dims=(8, 8, 8))):
        low = np.floor((points[i] - np.float32(width)) / np.float32(width)).astype(int)
        order = []
        for j in got:
            # where the cell lies relative to the lowest corner, cells counted around the wrap
            box = np.floor(points[j] / np.float32(width)).astype(int)
            order.append((*((box - low) % 8), j))
        assert order == sorted(order)


def test_the_order_is_the_same_on_every_device():
    points = np.random.default_rng(9).normal(size=(120, 3))
    one, two = query(points, 0.7), query(points, 0.7, device="sim")
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_the_spelling_of_warp_gives_the_same_points(device):
    points = np.random.default_rng(11).normal(size=(40, 3)).astype(np.float32)
    expected = query(points, 0.8, device=device)
    with wp.ScopedDevice(device):
        p = wp.array(points, dtype=wp.vec3)
        grid = wp.HashGrid(8, 8, 8)
        grid.build(p, 0.8)
        found = wp.full((40, 60), -1, dtype=int)
        wp.launch(collect_stepwise, dim=40, inputs=[grid.id, p, 0.8, found])
        table = found.numpy()
    for i, row in enumerate(expected):
        assert table[i, : len(row)].tolist() == row.tolist()
        assert table[i, len(row)] == -row[-1], "the last index was not left alone"


def test_positions_outside_the_list_of_points_are_faults(device):
    @wp.kernel
    def nth(grid: wp.uint64, n: int, out: wp.array(dtype=int)):
        out[0] = wp.hash_grid_point_id(grid, n)

    with wp.ScopedDevice(device):
        grid = wp.HashGrid(4, 4, 4)
        grid.build(wp.zeros(3, dtype=wp.vec3), 1.0)
        out = wp.zeros(1, dtype=int)
        wp.launch(nth, dim=1, inputs=[grid.id, 2, out])
        assert out.list() == [2]
        with pytest.raises(wp.OutOfBoundsError):
            wp.launch(nth, dim=1, inputs=[grid.id, 3, out])


def test_periodic_domains_reach_across_the_border(device):
    rng = np.random.default_rng(10)
    length = np.array([4.0, 3.0, 2.0])
    points = (rng.uniform(-1.0, 2.0, size=(150, 3)) * length).astype(np.float32)
    radius = 0.45
    got = query(points, radius, dims=(6, 5, 4), periodic=tuple(length), device=device)
    delta = points[:, None].astype(np.float64) - points[None]
    delta -= length * np.rint(delta / length)
    distance = np.linalg.norm(delta, axis=2)
    for i, found in enumerate(got):
        assert len(set(found)) == len(found)
        assert set(np.flatnonzero(distance[i] <= radius)) <= set(found)


@pytest.mark.parametrize("radius", [-1.0, float("nan")])
def test_a_senseless_radius_finds_nothing(radius, device):
    points = np.zeros((3, 3))
    assert all(len(x) == 0 for x in query(points, radius, build_radius=1.0, device=device))


def test_points_that_are_no_numbers_do_no_harm(device):
    points = np.array([[0, 0, 0], [np.nan, 0, 0], [np.inf, 0, 0], [3e38, -3e38, 0], [0.1, 0, 0]])
    got = query(points, 0.5, device=device)
    assert {0, 4} <= set(got[0])
    assert all(len(set(x)) == len(x) for x in got)


def test_no_points(device):
    assert query(np.zeros((0, 3)), 1.0, device=device) == []


def test_the_grid_grows_and_keeps_its_handle():
    grid = wp.HashGrid(4, 4, 4)
    grid.build(wp.zeros(3, dtype=wp.vec3), 1.0)
    handle = grid.id
    grid.build(wp.zeros(3000, dtype=wp.vec3), 1.0)
    assert grid.id == handle
    assert len(grid) == 3000


def test_max_points_is_a_clear_error():
    grid = wp.HashGrid(4, 4, 4, max_points=10)
    grid.build(wp.zeros(10, dtype=wp.vec3), 1.0)
    with pytest.raises(
        wp.LaunchError, match="11 points, but the hash grid was made for at most 10"
    ):
        grid.build(wp.zeros(11, dtype=wp.vec3), 1.0)
    assert len(grid) == 10


def test_a_grid_that_was_not_built_has_no_handle():
    with pytest.raises(wp.LaunchError, match="H0714"):
        wp.HashGrid(4, 4, 4).id  # noqa: B018


@pytest.mark.parametrize("handle", [0, 12345, (1 << 56) | (1 << 32) | 9, (2 << 56) | (1 << 32)])
def test_a_wrong_handle_is_a_fault(handle, device):
    with wp.ScopedDevice(device):
        p = wp.zeros(2, dtype=wp.vec3)
        count, found = wp.zeros(2, dtype=int), wp.zeros((2, 4), dtype=int)
        with pytest.raises(wp.KernelFault, match="H0406"):
            wp.launch(collect, dim=2, inputs=[handle, p, 1.0, count, found])


def test_a_stale_handle_is_a_fault():
    grid = wp.HashGrid(4, 4, 4)
    p = wp.zeros(2, dtype=wp.vec3)
    grid.build(p, 1.0)
    handle = grid.id
    del grid
    gc.collect()
    other = wp.HashGrid(4, 4, 4)  # takes the free slot
    other.build(p, 1.0)
    count, found = wp.zeros(2, dtype=int), wp.zeros((2, 4), dtype=int)
    with pytest.raises(wp.KernelFault, match="H0406"):
        wp.launch(collect, dim=2, inputs=[handle, p, 1.0, count, found])


@pytest.mark.parametrize(
    ("dims", "options"),
    [
        ((0, 4, 4), {}),
        ((4, -1, 4), {}),
        ((4, 4.0, 4), {}),
        ((True, 4, 4), {}),
        ((1 << 12, 1 << 12, 1 << 12), {}),
        ((4, 4, 4), {"periodic": (1.0, 1.0)}),
        ((4, 4, 4), {"periodic": (1.0, -1.0, 1.0)}),
        ((4, 4, 4), {"periodic": (1.0, float("inf"), 1.0)}),
    ],
)
def test_senseless_grids_are_refused(dims, options):
    with pytest.raises(wp.LaunchError, match="H0711"):
        wp.HashGrid(*dims, **options)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), float("inf"), "1", None, 1e-60])
def test_senseless_build_radii_are_refused(radius):
    with pytest.raises(wp.LaunchError, match="H0711"):
        wp.HashGrid(4, 4, 4).build(wp.zeros(2, dtype=wp.vec3), radius)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (wp.zeros((3, 3)), "one of float32 and shape (3, 3)"),
        (wp.zeros((2, 2), dtype=wp.vec3), "one of vec3 and shape (2, 2)"),
        (wp.zeros(3, dtype=wp.vec3d), "one of vec3d and shape (3,)"),
        ([[0, 0, 0]], "list [[0, 0, 0]]"),
    ],
)
def test_points_of_another_kind_are_refused(points, said):
    with pytest.raises(wp.LaunchError, match="H0711") as caught:
        wp.HashGrid(4, 4, 4).build(points, 1.0)
    assert f"a 1-D array of wp.vec3, not {said}\n" in str(caught.value)
    assert "wp.array(x, dtype=wp.vec3)" in str(caught.value)


@pytest.mark.parametrize("count", [0, 1, 700, 5000])
@pytest.mark.parametrize("dims", [(8, 8, 8), (1, 1, 1), (40, 3, 90)])
def test_what_gpus_build_is_the_same(count, dims, monkeypatch):
    """Their kernels run here too, since blocks mean the same on every device."""
    points = wp.array(
        np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32), dtype=wp.vec3
    )
    built = []
    for build in (wp.HashGrid.build, lambda grid, p, r: grid._build_on_gpu(p, [r] * 3)):
        grid = wp.HashGrid(*dims, device="cpu")
        monkeypatch.setattr(grid, "_register", lambda width, arrays: built.append(arrays))
        build(grid, points, 0.3)
    (starts, ids), (starts_there, ids_there) = built
    np.testing.assert_array_equal(starts.numpy(), starts_there.numpy())
    np.testing.assert_array_equal(ids.numpy(), ids_there.numpy())


@pytest.mark.parametrize("failing", range(5))
def test_builds_behind_one_that_failed_on_the_way(failing, monkeypatch):
    """As on a GPU, where any launch may raise what an earlier kernel did."""
    random = np.random.default_rng(failing)
    points = wp.array(random.random((5000, 3), dtype=np.float32), dtype=wp.vec3, device="cpu")
    grid, other = (wp.HashGrid(8, 9, 100, device="cpu") for _ in range(2))
    grid._build_on_gpu(points, [0.1] * 3)
    launch, left = wp.launch, iter(range(failing, -1, -1))

    def fail_once(*args, **options):
        if next(left, None) == 0:
            raise wp.KernelFault(Diagnostic("H0401", "of an earlier kernel"))
        return launch(*args, **options)

    monkeypatch.setattr(wp, "launch", fail_once)
    with pytest.raises(wp.KernelFault):
        grid._build_on_gpu(points, [0.1] * 3)
    grid._build_on_gpu(points, [0.1] * 3)
    other.build(points, 0.1)
    for made, expected in zip(grid._shown[1], other._shown[1], strict=True):
        np.testing.assert_array_equal(made.numpy(), expected.numpy())


@wp.kernel
def go_on(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    out: wp.array(dtype=wp.vec2i),
):
    """Some steps, then a loop over what is left, without and with a break in it."""
    i = wp.tid()
    query = wp.hash_grid_query(grid, points[i], radius)
    j = 0
    first = 0
    for _ in range(i % 7):
        if wp.hash_grid_query_next(query, j):
            first = first * 31 + j
    plain = first
    for k in query:
        plain = plain * 31 + k
    for k in query:
        if k < 0:
            break
        first = first * 31 + k
    out[i] = wp.vec2i(plain, first)


def test_loops_go_on_where_steps_have_ended(device):
    points = np.random.default_rng(9).random((100, 3)).astype(np.float32) * 2
    candidates = query(points, 0.5, device=device)
    p = wp.array(points, dtype=wp.vec3, device=device)
    grid = wp.HashGrid(8, 8, 8, device=device)
    grid.build(p, 0.5)
    out = wp.zeros(len(points), dtype=wp.vec2i, device=device)
    wp.launch(go_on, dim=len(points), inputs=[grid.id, p, 0.5, out], device=device)
    for found, (plain, with_break) in zip(candidates, out.numpy(), strict=True):
        wanted = 0
        for j in found:
            wanted = (wanted * 31 + int(j)) % 2**32
        assert int(plain) % 2**32 == wanted
        assert int(with_break) % 2**32 == wanted


@wp.func
def first_within(grid: wp.uint64, points: wp.array(dtype=wp.vec3), i: int, radius: float):
    for j in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[j] - points[i]) <= radius and j != i:
            return j
    return -1


@wp.kernel
def leave_loops(
    grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, out: wp.array(dtype=wp.vec4i)
):
    """Loops over a query that are left in every way: by continue, break and return, and nested."""
    i = wp.tid()
    count = 0
    last = -1
    for j in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[j] - points[i]) > radius:
            continue
        count += 1
        last = j
    few = 0
    for j in wp.hash_grid_query(grid, points[i], radius):
        if few == 3:
            break
        few += j
    total = 0
    for j in wp.hash_grid_query(grid, points[i], radius):
        for k in wp.hash_grid_query(grid, points[j], radius):
            if k == i:
                continue
            total += k
            if k > 40:
                break
    out[i] = wp.vec4i(count, last, first_within(grid, points, i, radius), few + 3 * total)


def test_loops_over_a_query_are_left_in_every_way(device):
    points = np.random.default_rng(8).random((120, 3)).astype(np.float32) * 3
    radius = 0.6
    candidates = query(points, radius, device=device)
    p = wp.array(points, dtype=wp.vec3, device=device)
    grid = wp.HashGrid(8, 8, 8, device=device)
    grid.build(p, radius)
    out = wp.zeros(len(points), dtype=wp.vec4i, device=device)
    wp.launch(leave_loops, dim=len(points), inputs=[grid.id, p, radius, out], device=device)
    near = neighbours(points, radius)
    for i, (count, last, first, rest) in enumerate(out.numpy()):
        within = [j for j in candidates[i] if j in near[i]]
        assert (count, last) == (len(within), within[-1])
        assert first == next((j for j in within if j != i), -1)
        few = 0
        for j in candidates[i]:
            if few == 3:
                break
            few += j
        total = 0
        for j in candidates[i]:
            for k in candidates[j]:
                if k == i:
                    continue
                total += k
                if k > 40:
                    break
        assert rest == few + 3 * total
