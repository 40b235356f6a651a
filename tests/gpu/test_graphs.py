"""Captured graphs."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest

import heald as wp
from heald.diagnostics import DeviceError, OutOfBoundsError

pytestmark = pytest.mark.gpu
GPU = "cuda:0"


@wp.kernel
def add(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32)):
    i = wp.tid()
    b[i] = a[i] + 1.0


@wp.kernel
def pick(a: wp.array(dtype=wp.float32), at: wp.array(dtype=int), b: wp.array(dtype=wp.float32)):
    i = wp.tid()
    b[i] = a[at[i]]


@wp.kernel
def tell(a: wp.array(dtype=wp.float32)):
    wp.printf("%g\n", a[wp.tid()])


@wp.kernel
def found(grid: wp.uint64, out: wp.array(dtype=int)):
    n = 0
    for _ in wp.hash_grid_query(grid, wp.vec3(0.0, 0.0, 0.0), 0.5):
        n += 1
    out[wp.tid()] = n


def test_a_graph_runs_again_and_again() -> None:
    a = wp.zeros(100, device=GPU)
    with wp.ScopedDevice(GPU), wp.ScopedCapture() as capture:
        for _ in range(10):
            wp.launch(add, dim=100, inputs=[a, a])
    assert capture.graph is not None
    wp.synchronize(GPU)
    assert (a.numpy() == 0).all()  # nothing has run yet
    for _ in range(7):
        wp.capture_launch(capture.graph)
    assert (a.numpy() == 70).all()


def test_arrays_made_inside_live_with_the_graph() -> None:
    a, out = wp.ones(1000, device=GPU), wp.zeros(1000, device=GPU)
    wp.capture_begin(GPU)
    inside = wp.zeros(1000, device=GPU)
    wp.launch(add, dim=1000, inputs=[a, inside], device=GPU)
    wp.launch(add, dim=1000, inputs=[inside, out], device=GPU)
    b = wp.clone(out)
    wp.launch(add, dim=1000, inputs=[b, b], device=GPU)
    graph = wp.capture_end(GPU)
    del inside
    gc.collect()
    others = [wp.full(1000, -5.0, device=GPU) for _ in range(20)]
    for k in range(5):
        a.fill_(float(k))
        wp.capture_launch(graph)
        assert (out.numpy() == k + 2).all()
        assert (b.numpy() == k + 3).all()
    assert all((x.numpy() == -5).all() for x in others)
    del graph, a, others
    gc.collect()
    assert (wp.zeros(1000, device=GPU).numpy() == 0).all()


def test_kernels_are_compiled_inside_a_capture() -> None:
    @wp.kernel
    def fresh(a: wp.array(dtype=wp.float32)):
        a[wp.tid()] += 2.5

    a = wp.zeros(10, device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(fresh, dim=10, inputs=[a], device=GPU)
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert (a.numpy() == 5).all()


WEIGHTS = wp.constant(np.array([1.5, 2.5], np.float32))


@wp.kernel
def weighed(a: wp.array(dtype=wp.float32)):
    i = wp.tid()
    a[i] = WEIGHTS[i % 2]


def test_tables_are_first_used_inside_a_capture() -> None:
    a = wp.zeros(4, device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(weighed, dim=4, inputs=[a], device=GPU)
    wp.capture_launch(capture.graph)
    assert a.list() == [1.5, 2.5, 1.5, 2.5]
    WEIGHTS.assign([3.0, 4.0])
    wp.capture_launch(capture.graph)
    assert a.list() == [3.0, 4.0, 3.0, 4.0]


REFUSED: dict[str, Callable[[wp.array], object]] = {
    "numpy": lambda a: a.numpy(),
    "element": lambda a: a[3],
    "array": lambda a: wp.array([1.0, 2.0], device=GPU),
    "synchronize": lambda a: wp.synchronize(GPU),
    "stream": lambda a: wp.synchronize_stream(GPU),
    "begin": lambda a: wp.capture_begin(GPU),
    "condition": wp.capture_if,
    "complete": lambda a: wp.get_stream(GPU).is_complete,
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_captured(what: str) -> None:
    a = wp.zeros(10, device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(add, dim=10, inputs=[a, a], device=GPU)
        with pytest.raises(DeviceError) as caught:
            REFUSED[what](a)
        assert caught.value.codes == ("H0811",)
    wp.capture_launch(capture.graph)
    assert (a.numpy() == 1).all()
    with pytest.raises(DeviceError) as caught:
        wp.capture_end(GPU)
    assert caught.value.codes == ("H0811",)


def test_a_failed_block_leaves_the_stream_usable() -> None:
    a = wp.zeros(10, device=GPU)

    def fail() -> None:
        with wp.ScopedCapture(GPU):
            wp.launch(add, dim=10, inputs=[a, a], device=GPU)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    wp.launch(add, dim=10, inputs=[a, a], device=GPU)
    assert (a.numpy() == 1).all()


def test_two_streams_in_one_graph() -> None:
    a, b, c = (wp.zeros(1000, device=GPU) for _ in range(3))
    main, side = wp.get_stream(GPU), wp.Stream(GPU)
    wp.synchronize(GPU)
    with wp.ScopedCapture(GPU) as capture:
        side.wait_stream(main)
        wp.launch(add, dim=1000, inputs=[a, b], stream=side)
        wp.launch(add, dim=1000, inputs=[a, c], stream=main)
        main.wait_stream(side)
        wp.launch(add, dim=1000, inputs=[b, a], stream=main)
    assert not side.is_capturing
    for k in range(4):
        wp.capture_launch(capture.graph)
        assert (a.numpy() == 2 * k + 2).all()
    wp.launch(add, dim=1000, inputs=[a, b], stream=side)
    wp.synchronize(side)
    assert (b.numpy() == 9).all()


def test_arrays_are_freed_inside_a_capture_of_two_streams() -> None:
    """And streams made: both are no part of the graph."""
    a, out = wp.ones(1000, device=GPU), wp.zeros(1000, device=GPU)
    main, side = wp.get_stream(GPU), wp.Stream(GPU)
    others = [wp.zeros(1000, device=GPU) for _ in range(3)]
    wp.launch(add, dim=1000, inputs=[a, others[0]], stream=side)
    with wp.ScopedCapture(GPU) as capture:
        side.wait_stream(main)
        others.pop()
        made = wp.Stream(GPU)
        wp.launch(add, dim=1000, inputs=[a, out], stream=side)
        main.wait_stream(side)
        others.clear()
    for _ in range(2):
        out.zero_()
        wp.capture_launch(capture.graph)
        assert (out.numpy() == 2).all()
    wp.launch(add, dim=1000, inputs=[out, out], stream=made)
    wp.synchronize(made)
    assert (wp.ones(1000, device=GPU).numpy() == 1).all()


def test_a_fault_inside_a_graph_names_its_launch() -> None:
    a, b = wp.zeros(10, device=GPU), wp.zeros(10, device=GPU)
    at = wp.array(np.arange(10, dtype=np.int32), device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(add, dim=10, inputs=[a, a], device=GPU)
        wp.launch(pick, dim=10, inputs=[a, at, b], device=GPU)
    wp.capture_launch(capture.graph)
    assert (b.numpy() == 1).all()
    at.fill_(77)
    for _ in range(2):
        wp.capture_launch(capture.graph)
        with pytest.raises(OutOfBoundsError, match=r"index 77 outside 'a'.*kernel 'pick'"):
            wp.synchronize(GPU)
    at.fill_(3)
    wp.capture_launch(capture.graph)
    assert (b.numpy() == 4).all()


def test_graphs_print(capsys: pytest.CaptureFixture[str]) -> None:
    a = wp.zeros(2, device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(add, dim=2, inputs=[a, a], device=GPU)
        wp.launch(tell, dim=2, inputs=[a], device=GPU)
        wp.launch(add, dim=2, inputs=[a, a], device=GPU)
        wp.launch(tell, dim=1, inputs=[a], device=GPU)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    wp.synchronize(GPU)
    assert capsys.readouterr().out.split() == ["1", "1", "2", "3", "3", "4"]


def test_handles_inside_a_graph() -> None:
    grid = wp.HashGrid(8, 8, 8, device=GPU)
    points = wp.zeros(5, dtype=wp.vec3, device=GPU)
    grid.build(points, radius=0.5)
    out = wp.zeros(1, dtype=int, device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(found, dim=1, inputs=[grid.id, out], device=GPU)
    wp.capture_launch(capture.graph)
    assert out.list() == [5]
    grid.build(wp.zeros(9, dtype=wp.vec3, device=GPU), radius=0.5)
    wp.capture_launch(capture.graph)
    assert out.list() == [9]


@wp.kernel
def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), sums: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for j in wp.hash_grid_query(grid, points[i], 0.25):
        total += points[j].x * float(j + 1)
    sums[i] = total


def test_grids_that_graphs_build() -> None:
    """Each with its own radius and points, whatever was built meanwhile: as on a CPU."""
    random = np.random.default_rng(3)
    wanted, graphs = [], []
    grid, host = (wp.HashGrid(8, 8, 8, device=d) for d in (GPU, "cpu"))
    for count, radius in ((300, 0.5), (300, 0.1), (77, 0.3)):
        data = random.random((count, 3), dtype=np.float32) * 4
        points = wp.array(data, dtype=wp.vec3, device=GPU)
        sums = wp.zeros(count, device=GPU)
        with wp.ScopedCapture(GPU) as capture:
            grid.build(points, radius)
            wp.launch(neighbours, dim=count, inputs=[grid.id, points, sums], device=GPU)
        graphs.append((capture.graph, points, sums))
        there = wp.array(data, dtype=wp.vec3, device="cpu")
        expected = wp.zeros(count, device="cpu")
        host.build(there, radius)
        wp.launch(neighbours, dim=count, inputs=[host.id, there, expected], device="cpu")
        wanted.append(expected.numpy())
    early = wp.full(300, 5.0, device=GPU)
    wp.launch(neighbours, dim=300, inputs=[grid.id, graphs[0][1], early], device=GPU)
    assert not early.numpy().any()  # no graph has run
    for k in (1, 0, 2, 1, 0, 0, 2):  # the second has the memory that the first one made
        graph, points, sums = graphs[k]
        sums.zero_()
        wp.capture_launch(graph)
        assert sums.numpy().tobytes() == wanted[k].tobytes()
        sums.zero_()
        wp.launch(neighbours, dim=len(points), inputs=[grid.id, points, sums], device=GPU)
        assert sums.numpy().tobytes() == wanted[k].tobytes()


def test_builds_between_a_capture_and_its_graph() -> None:
    """With the memory that the capture made."""
    points = wp.array(np.random.default_rng(4).random((300, 3)), dtype=wp.vec3, device=GPU)
    junk = [wp.full(n, 7, dtype=int, device=GPU) for n in (300, 8 * 8 * 8 + 1) for _ in range(6)]
    del junk  # so that new memory has something in it
    grid, other = (wp.HashGrid(8, 8, 8, device=GPU) for _ in range(2))
    with wp.ScopedCapture(GPU) as capture:
        grid.build(points, 0.2)
    found = []
    for one in (grid, grid, other):
        one.build(points, 0.2)
        sums = wp.zeros(300, device=GPU)
        wp.launch(neighbours, dim=300, inputs=[one.id, points, sums], device=GPU)
        found.append(sums.numpy().tobytes())
        wp.capture_launch(capture.graph)
    assert found[0] == found[1] == found[2]


def test_graphs_on_streams_that_are_gone() -> None:
    """With prints and handles, for which the host looks back at the launch before."""
    grid = wp.HashGrid(8, 8, 8, device=GPU)
    grid.build(wp.zeros(5, dtype=wp.vec3, device=GPU), radius=0.5)
    out, a = wp.zeros(1, dtype=int, device=GPU), wp.zeros(1, device=GPU)
    wp.synchronize(GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(found, dim=1, inputs=[grid.id, out], device=GPU)
        wp.launch(tell, dim=1, inputs=[a], device=GPU)
    for count in (5, 6, 7):
        grid.build(wp.zeros(count, dtype=wp.vec3, device=GPU), radius=0.5)
        wp.capture_launch(capture.graph, wp.Stream(GPU))
        gc.collect()
        wp.synchronize(GPU)
        assert out.list() == [count]


def test_the_host_waits_for_pinned_copies_of_graphs() -> None:
    there = wp.zeros(1 << 22, device=GPU)
    back = wp.zeros(1 << 22, device="cpu", pinned=True)
    with wp.ScopedCapture(GPU) as capture:
        for _ in range(20):
            wp.launch(add, dim=1 << 22, inputs=[there, there], device=GPU)
        wp.copy(back, there)
    for k in range(3):
        wp.capture_launch(capture.graph)
        assert (back.numpy() == 20 * (k + 1)).all()


def test_pinned_copies_are_captured() -> None:
    source = wp.array(np.arange(8, dtype=np.float32), device="cpu", pinned=True)
    there = wp.zeros(8, device=GPU)
    back = wp.zeros(8, device="cpu", pinned=True)
    with wp.ScopedCapture(GPU) as capture:
        wp.copy(there, source)
        wp.launch(add, dim=8, inputs=[there, there], device=GPU)
        wp.copy(back, there)
    wp.capture_launch(capture.graph)
    wp.synchronize(GPU)
    assert back.numpy().tolist() == list(range(1, 9))
    source.fill_(5.0)
    wp.capture_launch(capture.graph)
    wp.synchronize(GPU)
    assert back.numpy().tolist() == [6.0] * 8


def test_copies_with_gaps_are_captured() -> None:
    a = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4), device=GPU)
    turned = wp.zeros((4, 3), device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        turned.assign(a.transpose())
        a[::2, 1:].fill_(7.0)
        a[:, 1:].assign(a[:, :-1])
    for _ in range(2):
        before = a.numpy()
        wp.capture_launch(capture.graph)
        np.testing.assert_array_equal(turned.numpy(), before.T)
        before[::2, 1:] = 7
        before[:, 1:] = before[:, :-1].copy()
        np.testing.assert_array_equal(a.numpy(), before)


def test_launches_of_all_kinds_are_captured() -> None:
    """Through entries, recorded ones too: their arrays are kept, and their faults are told."""
    a, b = wp.zeros(10, device=GPU), wp.zeros(10, device=GPU)
    at = wp.array(np.zeros(10, np.int32), device=GPU)
    for _ in range(4):
        wp.launch(add, dim=10, inputs=[a, b], device=GPU)
        wp.launch(pick, dim=10, inputs=[a, at, b], device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        for _ in range(5):
            x = wp.zeros(10, device=GPU)
            wp.launch(add, dim=10, inputs=[a, x], device=GPU)
            command = wp.launch(add, dim=10, inputs=[x], outputs=[a], device=GPU, record_cmd=True)
            command.launch()
            wp.launch(pick, dim=10, inputs=[a, at, b], device=GPU)
            del x, command
    gc.collect()
    filler = [wp.full(10, -7.0, device=GPU) for _ in range(50)]
    a.zero_()
    for k in range(3):
        wp.capture_launch(capture.graph)
        assert (b.numpy() == 10 * (k + 1)).all()
    assert all((x.numpy() == -7).all() for x in filler)
    at.fill_(10)
    wp.capture_launch(capture.graph)
    with pytest.raises(OutOfBoundsError, match=r"index 10 outside 'a'.*kernel 'pick'"):
        wp.synchronize(GPU)


@wp.kernel
def count_down(n: wp.array(dtype=int), steps: wp.array(dtype=int)):
    n[0] = n[0] - 1
    steps[0] = steps[0] + 1


def test_graphs_run_under_conditions() -> None:
    n, steps = wp.array([6], dtype=int, device=GPU), wp.zeros(1, dtype=int, device=GPU)
    with wp.ScopedCapture(GPU) as capture:
        wp.launch(count_down, dim=1, inputs=[n, steps], device=GPU)
    wp.capture_while(n, capture.graph)
    wp.capture_if(n, capture.graph)
    wp.capture_if(n, None, capture.graph, stream=wp.get_stream(GPU))
    assert (n.list(), steps.list()) == ([-1], [7])
