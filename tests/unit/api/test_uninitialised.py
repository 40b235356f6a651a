"""Reads of memory that nobody wrote: the interpreter reports them."""

import numpy as np
import pytest

import heald as wp


@wp.kernel
def copy(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i]


@wp.kernel
def fill_even(a: wp.array(dtype=float)):
    i = wp.tid()
    a[2 * i] = 1.0


def launch(kernel, dim, *arrays):
    wp.launch(kernel, dim=dim, inputs=arrays, device="sim")


def empty(n=4):
    return wp.empty(n, dtype=float, device="sim")


def test_a_read_of_an_empty_array_is_a_fault():
    with pytest.raises(wp.KernelFault) as info:
        launch(copy, 4, empty(), empty())
    text = str(info.value)
    assert "H0405" in text
    assert "element 0 of 'a'" in text
    assert "a[i]" in text


def test_what_a_kernel_wrote_may_be_read_and_nothing_else():
    a = empty()
    launch(fill_even, 2, a)
    with pytest.raises(wp.KernelFault, match="element 1 of 'a'"):
        launch(copy, 4, a, empty())
    b = empty(2)
    launch(copy, 2, a[::2], b)
    launch(copy, 2, b, empty(2))


WRITES = {
    "element": lambda a: [a.__setitem__(k, 1.0) for k in range(4)],
    "view": lambda a: a[:].fill_(1.0),
    "fill": lambda a: a.fill_(2.0),
    "zero": lambda a: a.zero_(),
    "assign": lambda a: a.assign([1.0, 2.0, 3.0, 4.0]),
    "numpy": lambda a: a.numpy().fill(1.0),
    "copy": lambda a: wp.copy(a, wp.ones(4, device="sim")),
    "pointer": lambda a: a.ptr,
}


@pytest.mark.parametrize("name", WRITES)
def test_what_the_host_wrote_may_be_read(name):
    a = empty()
    WRITES[name](a)
    launch(copy, 4, a, empty())


def test_one_element_written_by_the_host_is_one_element():
    a = empty()
    a[2] = 5.0
    with pytest.raises(wp.KernelFault, match="element 0 of 'a'"):
        launch(copy, 4, a, empty())
    b = empty(1)
    launch(copy, 1, a[2:3], b)
    assert b.list() == [5.0]


@pytest.mark.parametrize(
    "make", [wp.zeros, wp.ones, lambda n, device: wp.full(n, 3.0, device=device)]
)
def test_arrays_with_contents_may_be_read(make):
    launch(copy, 3, make(3, device="sim"), empty(3))
    launch(copy, 3, wp.array(np.ones(3, np.float32), device="sim"), empty(3))


def test_other_devices_do_not_look():
    wp.launch(copy, dim=4, inputs=[wp.empty(4, dtype=float), wp.empty(4, dtype=float)])


@pytest.mark.parametrize(
    "read",
    [
        lambda a: wp.map(lambda x: x + 1.0, a),
        lambda a: wp.map(lambda x: x + 1.0, a, out=empty()),
        lambda a: wp.map(lambda x: x + 1.0, a, out=a),
        wp.utils.array_sum,
        lambda a: wp.utils.array_sum(a.reshape(2, 2), out=empty(2).reshape(1, 2), axis=0),
        lambda a: wp.utils.array_inner(a, a),
        lambda a: wp.utils.array_scan(a, empty()),
        lambda a: wp.utils.array_cast(a, empty()),
        lambda a: wp.utils.radix_sort_pairs(a.view(wp.int32), empty(), 2),
    ],
)
def test_tools_of_the_host_do_not_hide_what_was_never_written(read):
    with pytest.raises(wp.KernelFault, match="H0405"):
        read(empty())
