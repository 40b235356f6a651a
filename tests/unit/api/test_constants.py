"""The constants, on the host and in kernels."""

import math

import pytest

import heald as wp

EXPECTED = {
    "e": math.e,
    "half_pi": math.pi / 2,
    "ln10": math.log(10),
    "ln2": math.log(2),
    "log10e": 1 / math.log(10),
    "log2e": 1 / math.log(2),
    "phi": (1 + 5**0.5) / 2,
    "pi": math.pi,
    "tau": 2 * math.pi,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_have_both_names(name: str) -> None:
    assert getattr(wp, name) == pytest.approx(EXPECTED[name], rel=1e-15)
    assert getattr(wp, name.upper()) == getattr(wp, name)


@wp.kernel
def use(a: wp.array(dtype=wp.float64), b: wp.array(dtype=float)):
    a[0] = wp.pi + a[1]
    b[0] = wp.TAU
    b[1] = -wp.inf
    b[2] = wp.NAN


@pytest.mark.cpu
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_kernels_take_them_as_literals(device: str) -> None:
    a = wp.zeros(2, dtype=wp.float64, device=device)
    b = wp.zeros(3, dtype=float, device=device)
    wp.launch(use, dim=1, inputs=[a, b], device=device)
    assert a.numpy()[0] == math.pi
    values = b.numpy().tolist()
    assert values[0] == pytest.approx(2 * math.pi, rel=1e-7)
    assert values[1] == -math.inf
    assert math.isnan(values[2])
