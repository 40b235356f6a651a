"""Updates of elements that belong to one thread lose their atomics, others keep them."""

from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.driver.choice import Choice
from heald.ir import ATOMICS, walk

F1 = wp.array(dtype=float)
F2 = wp.array(dtype=float, ndim=2)
I1 = wp.array(dtype=int)
V1 = wp.array(dtype=wp.vec3)
DENSE = Choice(bounds=True, unit=True, apart=True)


def atomics(kernel: Any, choice: Choice = DENSE) -> int:
    """How many atomics a variant has left."""
    program = kernel.program(kernel.concrete_types())
    return sum(op.name in ATOMICS for op in walk(program.lowered(choice).body))


@wp.kernel
def own(y: F1, x: F1):
    i = wp.tid()
    y[i] += x[i]


@wp.kernel
def own_again(y: F1, x: F1, n: int):
    i = wp.tid()
    for k in range(n):
        y[i] += x[k]
        y[i] -= 1.0
    y[i] = y[i] * 2.0


@wp.kernel
def moved(y: F1, x: F1, n: int):
    i = wp.tid()
    y[n - i - 1] += x[i]


@wp.kernel
def turned(y: F2, x: F2):
    i, j = wp.tid()
    y[j + 1, i] += x[i, j]


@wp.kernel
def leaves(y: V1, x: V1):
    i = wp.tid()
    y[i] += x[i]
    y[i].x -= 1.0


@wp.kernel
def masks(y: I1, x: I1):
    i = wp.tid()
    y[i] |= x[i]
    y[i] &= 12345
    y[i] ^= 7


OWN = [own, own_again, moved, turned, leaves, masks]


@wp.kernel
def one_place(y: F1, x: F1):
    y[0] += x[wp.tid()]


@wp.kernel
def halves(y: F1, x: F1):
    i = wp.tid()
    y[i // 2] += x[i]


@wp.kernel
def neighbours(y: F1, x: F1):
    i = wp.tid()
    y[i] += x[i]
    y[i + 1] += x[i]


@wp.kernel
def stored_elsewhere(y: F1, x: F1):
    i = wp.tid()
    y[i] += x[i]
    if i == 0:
        y[3] = 1.0


@wp.kernel
def along_a_loop(y: F1, x: F1):
    i = wp.tid()
    for k in range(3):
        y[i + k] += x[i]


@wp.kernel
def by_memory(y: F1, x: I1):
    i = wp.tid()
    y[x[i]] += 1.0


@wp.kernel
def moved_by_memory(y: F1, x: I1):
    i = wp.tid()
    y[i + x[0]] += 1.0


@wp.kernel
def one_axis_of_two(y: F1, x: F2):
    i, j = wp.tid()
    y[i] += x[i, j]


@wp.kernel
def sum_of_axes(y: F2, x: F2):
    i, j = wp.tid()
    y[i + j, j - i] += x[i, j]


@wp.kernel
def twice_the_index(y: F2, x: F2):
    i, j = wp.tid()
    y[i, i] += x[i, j]


@wp.kernel
def through_a_view(y: F2, x: F1):
    i = wp.tid()
    row = y[i // 2]
    row[i] += x[i]


@wp.kernel
def for_all_launches(y: F1, x: F1):
    i = wp.tid()
    wp.atomic_add(y, i, x[i])


@wp.kernel
def mixed_with_atomics(y: F1, x: F1):
    i = wp.tid()
    y[i] += x[i]
    wp.atomic_add(y, 0, 1.0)


@wp.kernel
def by_the_extent_of_a_view(y: F1, x: F1):
    i = wp.tid()
    part = x[: i // 2]
    y[i + part.shape[0]] += 1.0


SHARED = [
    one_place, halves, neighbours, stored_elsewhere, along_a_loop, by_memory, moved_by_memory,
    one_axis_of_two, sum_of_axes, twice_the_index, through_a_view, for_all_launches,
    mixed_with_atomics, by_the_extent_of_a_view,
]  # fmt: skip


@pytest.mark.parametrize("kernel", OWN, ids=lambda k: k.key)
def test_what_belongs_to_one_thread_is_updated_plainly(kernel: Any) -> None:
    assert atomics(kernel) == 0
    for less in (Choice(), Choice(True, True), Choice(True, apart=True), Choice(unit=True)):
        assert atomics(kernel, less) > 0


@pytest.mark.parametrize("kernel", SHARED, ids=lambda k: k.key)
def test_what_threads_may_share_is_updated_atomically(kernel: Any) -> None:
    assert atomics(kernel) > 0


def test_guards_stay_with_atomics() -> None:
    assert atomics(own, Choice(unit=True, apart=True)) == 1


def test_aliases_are_not_taken_for_own() -> None:
    """Two names for one array: the launch condition sends it to the variant with atomics."""

    @wp.kernel
    def both(a: I1, b: I1, n: int):
        i = wp.tid()
        a[i] += 1
        b[n - 1 - i] += 1

    assert atomics(both) == 0
    n = 100_000
    for _ in range(3):
        a = wp.zeros(n, dtype=int)
        wp.launch(both, n, [a, a, n])
        assert (a.numpy() == 2).all()


@pytest.mark.parametrize("kernel", OWN, ids=lambda k: k.key)
def test_the_bits_are_those_of_the_interpreter(kernel: Any) -> None:
    rng = np.random.default_rng(2)
    shapes: dict[Any, tuple[Any, ...]] = {turned: ((38, 41), (40, 37)), leaves: ((70, 3),) * 2}
    wide, narrow = shapes.get(kernel, ((70,), (70,)))
    whole = kernel is masks
    draw = rng.integers if whole else rng.normal
    y0, x0 = (draw(-9, 99, s).astype(np.int32 if whole else np.float32) for s in (wide, narrow))
    element = wp.vec3 if kernel is leaves else (int if whole else float)
    outcomes = []
    for device in ("cpu", "sim"):
        y = wp.array(y0, dtype=element, device=device)
        x = wp.array(x0, dtype=element, device=device)
        more = {own_again: [5], moved: [70]}.get(kernel, [])
        dim = narrow if kernel is turned else 70
        wp.launch(kernel, dim, [y, x, *more], device=device)
        outcomes.append(y.numpy().tobytes())
    assert outcomes[0] == outcomes[1]
