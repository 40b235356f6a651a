"""Indexed arrays as arguments of kernels: what is taken, what is refused, and what runs."""

from typing import Any

import numpy as np
import pytest

import heald as wp

DEVICES = ["cpu", "sim"]


def refused(code, match):
    return pytest.raises(wp.HealdError, match=f"(?s){code}.*{match}")


@wp.struct
class Body:
    mass: float
    place: wp.vec3


@wp.kernel
def double(x: wp.indexedarray(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0


@wp.kernel
def clear(a: wp.array(dtype=float)):
    a[wp.tid()] = 0.0


@pytest.mark.parametrize("device", DEVICES)
def test_a_kernel_reads_and_writes_the_array_behind_it(device):
    a = wp.array([1.0, 2.0, 3.0, 4.0], device=device)
    wp.launch(double, dim=2, inputs=[wp.indexedarray(a, [[3, 1]])], device=device)
    assert a.list() == [1.0, 4.0, 3.0, 8.0]


def test_every_launch_goes_by_the_dimensions_that_have_indices():
    @wp.kernel
    def add(x: wp.indexedarray2d(dtype=float), n: wp.array(dtype=int)):
        i, j = wp.tid()
        wp.atomic_add(x, i, j, 1.0)
        n[0] = x.shape[0] * 10 + x.shape[1]

    n = wp.zeros(1, dtype=int)
    for _ in range(4):  # the last ones go through launch entries
        for indices in ([[2], [1, 0]], [None, [3]], [[0, 1]], [None, None]):
            a = wp.zeros((3, 4))
            x = wp.indexedarray(a, indices)
            wp.launch(add, dim=x.shape, inputs=[x, n])
            expected = np.zeros((3, 4), np.float32)
            picks = [
                range(e) if k is None else k
                for e, k in zip(a.shape, [*indices, None], strict=False)
            ]
            expected[np.ix_(*picks)] = 1.0
            assert a.numpy().tolist() == expected.tolist()
            assert n[0] == x.shape[0] * 10 + x.shape[1]


@pytest.mark.parametrize("device", DEVICES)
def test_elements_that_are_structs_and_vectors(device):
    @wp.kernel
    def push(bodies: wp.indexedarray(dtype=Body), sums: wp.indexedarray1d[wp.vec3]):
        i = wp.tid()
        bodies[i].mass += 1.0
        bodies[i].place.y = 7.0
        b = bodies[i]
        sums[i] = b.place * b.mass
        sums[i].x -= 1.0
        sums[i][2] = 5.0

    bodies, sums = wp.zeros(3, dtype=Body, device=device), wp.zeros(2, dtype=wp.vec3, device=device)
    args = [wp.indexedarray(bodies, [[2, 0]]), wp.indexedarray(sums, [[1, 0]])]
    wp.launch(push, dim=2, inputs=args, device=device)
    assert [b.mass for b in bodies.list()] == [1.0, 0.0, 1.0]
    assert bodies[2].place == wp.vec3(0.0, 7.0, 0.0)
    assert sums.list() == [wp.vec3(-1.0, 7.0, 5.0)] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_four_dimensions_with_slices(device):
    @wp.kernel
    def gather(x: wp.indexedarray4d(dtype=int), out: wp.array(dtype=int, ndim=2)):
        i, j = wp.tid()
        part = x[1, :, ::-1, 2]
        out[i, j] = part[i, j]

    a = wp.array(np.arange(120).reshape(2, 3, 4, 5), dtype=int, device=device)
    x = wp.indexedarray(a, [[0, 1], None, [3, 0, 1], [4, 3, 2]])
    out = wp.zeros((3, 3), dtype=int, device=device)
    wp.launch(gather, dim=(3, 3), inputs=[x, out], device=device)
    assert out.list() == x[1, :, ::-1, 2].list()


@pytest.mark.parametrize("device", DEVICES)
def test_functions_take_them_and_generic_kernels_too(device):
    @wp.func
    def last(x: wp.indexedarray(dtype=Any)):
        return x[len(x) - 1]

    @wp.kernel
    def copy(x: wp.indexedarray(dtype=Any, ndim=Any), out: wp.array(dtype=Any), n: Any):
        out[wp.tid()] = last(x[0]) + x.dtype(n[0])

    for dtype in (int, wp.float64):
        a = wp.array([[1, 2], [3, 4]], dtype=dtype, device=device)
        one = wp.indexedarray(wp.zeros(1, dtype=int, device=device), [[0]])
        out = wp.zeros(1, dtype=dtype, device=device)
        x = wp.indexedarray(a, [[1]])
        wp.launch(copy, dim=1, inputs=[x, out, one], device=device)
        assert out.list() == [4]


def test_a_function_of_plain_arrays_does_not_take_them():
    @wp.func
    def first(x: wp.array(dtype=float)):
        return x[0]

    @wp.kernel
    def k(x: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
        out[0] = first(x)

    with refused("H0203", r"'first' takes array.dtype=float32, ndim=1. as 'x', not indexedarray"):
        wp.launch(k, dim=1, inputs=[wp.indexedarray(wp.zeros(1), [0]), wp.zeros(1)])


def test_a_part_of_the_array_behind_it():
    @wp.kernel
    def total(x: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
        for k in range(x.data.shape[0]):
            out[0] += x.data[k]

    out = wp.zeros(1)
    wp.launch(total, dim=1, inputs=[wp.indexedarray(wp.array([1.0, 2.0]), [0]), out])
    assert out.list() == [3.0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("safety", ["auto", "guarded"])
def test_both_indices_are_checked(device, safety):
    @wp.kernel(safety=safety)
    def fill(x: wp.indexedarray(dtype=float), shift: int):
        x[wp.tid() + shift] = 1.0

    a = wp.zeros(3, device=device)
    rows = wp.array([2, 1], device=device)
    x = wp.indexedarray(a, [rows])
    with refused("H0401", r"index 2 outside 'x.indices\[0\]' of shape 2, in thread 1"):
        wp.launch(fill, dim=2, inputs=[x, 1], device=device)
    assert a.list() == [0.0, 1.0, 0.0]
    with refused("H0401", r"index -1 outside 'x.indices\[0\]'"):
        wp.launch(fill, dim=1, inputs=[x, -1], device=device)
    rows.fill_(9)
    with refused("H0401", r"index 9 outside 'x.data' of shape 3"):
        wp.launch(fill, dim=2, inputs=[x, 0], device=device)
    assert a.list() == [0.0, 1.0, 0.0]


def test_the_prover_believes_nothing_of_the_indices():
    @wp.kernel
    def fill(x: wp.indexedarray(dtype=float)):
        i = wp.tid()
        if i < x.shape[0]:
            x[i] = 1.0

    assert not wp.verify(fill, properties="bounds").proved
    with refused("H0606", "this access is not proved"):
        strict = wp.kernel(fill.__wrapped__, safety="strict", name="strict")
        wp.launch(strict, dim=1, inputs=[wp.indexedarray(wp.zeros(1), [0])])


def test_a_witness_holds_the_bad_index():
    @wp.kernel
    def fill(x: wp.indexedarray(dtype=float)):
        i = wp.tid()
        if i < x.shape[0]:
            x[i] = 1.0

    witness = wp.verify(fill, properties="bounds").witness
    wrong = witness.replay()[0]
    assert wrong.aspect == "bounds"
    assert not 0 <= wrong.index[0] < wrong.shape[0]


@pytest.mark.parametrize("device", DEVICES)
def test_indices_that_are_the_data(device):
    @wp.kernel
    def chase(x: wp.indexedarray(dtype=int), steps: int):
        for k in range(steps):
            x[k] = x[k] + 1
            x[k] = x[k] + 1

    memory, expected = wp.array([2, 0, 4, 1, 3, 0, 0, 0], device=device), [2, 0, 4, 1, 3, 0, 0, 0]
    for k in range(5):
        for _ in range(2):
            value = expected[expected[k]] + 1
            expected[expected[k]] = value
    wp.launch(chase, dim=1, inputs=[wp.indexedarray(memory, [memory]), 5], device=device)
    assert memory.list() == expected


def test_a_dimension_without_indices_is_proved_as_in_an_array():
    @wp.kernel
    def fill(x: wp.indexedarray(dtype=float)):
        i = wp.tid()
        if i < x.shape[0]:
            x[i] = 1.0

    x = wp.indexedarray(wp.zeros(3), [None])
    assert wp.verify(fill, dim=3, args=[x], properties=["bounds", "races"]).proved


def test_recorded_launches_take_them():
    a, b = wp.ones(3), wp.ones(3)
    command = wp.launch(double, dim=1, inputs=[wp.indexedarray(a, [[2]])], record_cmd=True)
    command.launch()
    command.set_param_by_name("x", wp.indexedarray(b, [[0]]))
    command.launch()
    command.launch()
    assert (a.list(), b.list()) == ([1.0, 1.0, 2.0], [4.0, 1.0, 1.0])
    with refused("H0702", "'x' .* indices of other dimensions"):
        command.set_param_at_index(0, wp.indexedarray(b, [None]))
    with refused("H0702", "indexed array, not"):
        command.set_param_at_index(0, b)
    command.launch()
    assert b.list() == [8.0, 1.0, 1.0]


def test_what_is_no_such_indexed_array_is_refused():
    a = wp.zeros(3)
    with refused("H0702", r"argument 'x' .*double.* is an indexed array, not .*wp.indexedarray"):
        wp.launch(double, dim=1, inputs=[a])
    with refused("H0702", "is an indexed array, not"):
        wp.launch(double, dim=1, inputs=[np.zeros(3, np.float32)])
    with refused("H0702", "is an indexed array, not None"):
        wp.launch(double, dim=1, inputs=[None])
    with refused("H0702", "element type float32, the array given has int32"):
        wp.launch(double, dim=1, inputs=[wp.indexedarray(wp.zeros(3, dtype=int), [0])])
    with refused("H0703", "has 1 dimension, the array given has 2"):
        wp.launch(double, dim=1, inputs=[wp.indexedarray(wp.zeros((3, 3)), [0])])
    with refused("H0704", "lives on 'sim', the launch is on 'cpu'"):
        wp.launch(double, dim=1, inputs=[wp.indexedarray(wp.zeros(3, device="sim"), [0])])
    with refused("H0702", r"'a' .*not .*annotate it with wp.indexedarray.*\.contiguous\(\)"):
        wp.launch(clear, dim=1, inputs=[wp.indexedarray(a, [0])])


def test_indices_may_be_read_only_and_data_must_not():
    rows = np.array([1], np.int32)
    rows.flags.writeable = False
    data = np.ones(2, np.float32)
    x = wp.indexedarray(wp.array(data, copy=False), [wp.array(rows, copy=False)])
    wp.launch(double, dim=1, inputs=[x])
    assert data.tolist() == [1.0, 2.0]
    data.flags.writeable = False
    x = wp.indexedarray(wp.array(data, copy=False), [rows])
    with refused("H0705", "'x' .*read-only"):
        wp.launch(double, dim=1, inputs=[x])


def test_what_quick_launches_remember_is_refused_where_it_does_not_fit():
    @wp.kernel
    def read(x: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
        out[0] = x[0]

    data = np.ones(3, np.float32)
    data.flags.writeable = False
    frozen = wp.indexedarray(wp.array(data, copy=False), [[2]])
    rows, out = wp.array([2]), wp.zeros(1)
    good = wp.indexedarray(wp.array([1.0, 2.0, 3.0]), [rows])
    for _ in range(4):
        wp.launch(read, dim=1, inputs=[frozen, out])
        wp.launch(double, dim=1, inputs=[good])
    assert (out.list(), good.data[2]) == ([1.0], 48.0)
    assert frozen.packed is not None
    for _ in range(2):
        with refused("H0705", "'x' .*read-only"):
            wp.launch(double, dim=1, inputs=[frozen])
    rows.fill_(0)
    wp.launch(double, dim=1, inputs=[good])
    assert good.data.list() == [2.0, 2.0, 48.0]
    rows.fill_(3)
    with refused("H0401", "index 3 outside 'x.data'"):
        wp.launch(double, dim=1, inputs=[good])
    with refused("H0704", "lives on 'cpu', the launch is on 'sim'"):
        wp.launch(double, dim=1, inputs=[good], device="sim")


def test_kernels_are_compiled_ahead_for_indices_of_all_dimensions():
    @wp.kernel
    def k(x: wp.indexedarray2d(dtype=float)):
        i, j = wp.tid()
        x[i, j] = 1.0

    k.prepare()
    (program,) = k.programs()
    x = wp.indexedarray(wp.zeros((2, 2)), [[0], [1]])
    wp.launch(k, dim=x.shape, inputs=[x])
    assert k.programs() == [program]
    assert x.data.list() == [0.0, 1.0, 0.0, 0.0]


def test_stored_kernels_take_them(tmp_path):
    wp.save_ir(double, tmp_path / "double.heald")
    loaded = wp.load_ir(tmp_path / "double.heald")
    a = wp.ones(3)
    for _ in range(3):
        wp.launch(loaded, dim=1, inputs=[wp.indexedarray(a, [[1]])])
    assert a.list() == [1.0, 8.0, 1.0]
    with refused("H0702", "is an indexed array, not"):
        wp.launch(loaded, dim=1, inputs=[a])
    with refused("H0702", "indices of other dimensions"):
        wp.launch(loaded, dim=1, inputs=[wp.indexedarray(a, [None])])


def test_a_struct_of_that_name_is_no_indexed_array():
    @wp.struct
    class indexedarray:  # noqa: N801 - the name is the point
        data: wp.array(dtype=float)

    @wp.kernel
    def k(x: indexedarray):
        x.data[0] = x[0]

    with refused("H0209", "indexedarray cannot be indexed"):
        wp.launch(k, dim=1, inputs=[indexedarray()])
