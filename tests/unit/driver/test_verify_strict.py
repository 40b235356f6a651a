"""What strict launches ask of a proof: sizes, addresses and handles, each time anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.driver import verify_strict
from heald.driver.arguments import Argument, ArrayArgument
from heald.driver.verify import ask
from heald.driver.verify_strict import StrictGate
from heald.ir import Kernel, check, parse
from heald.ops import TABLE
from heald.proof import Proof, Request
from heald.runtime.device import CPU, SIM
from heald.runtime.resources import table_of
from heald.types import Array, f32, u64

SQUARES = """
kernel @squares<1>(%a: array<f32,1>, %b: array<f32,1>) {
  %t: i32 = tid [axis=0]
  %i: i32 = imul %t, %t
  %v: f32 = load %a, %i
  store %b, %t, %v
  return
}
"""
WIDTH = """
kernel @width<1>(%id: u64, %out: array<i32,1>) {
  %t: i32 = tid [axis=0]
  %w: i32 = resource_scalar %id [kind=3, slot=0]
  store %out, %t, %w
  return
}
"""


def kernel_of(text: str) -> Kernel:
    kernel = parse(text, TABLE)
    check(kernel, TABLE)
    return kernel


def array(extent: int, start: int = 0) -> Argument:
    """Bytes that nobody touches: only addresses matter."""
    leaf = ArrayArgument(4096 + 4 * start, (extent,), (4,), f32, None)
    return Argument(Array(f32, 1), (leaf,))


def test_arrays_are_compared_at_every_launch() -> None:
    gate = StrictGate(kernel_of(SQUARES))
    for _ in range(2):
        assert gate.missing((3,), (array(5), array(3, 5)), CPU) == ()
        assert gate.missing((3,), (array(5), array(3, 4)), CPU) == ("aliasing",)
        assert gate.missing((3,), (array(4), array(3, 5)), CPU) == ("bounds",)


def test_handles_are_looked_up_at_every_launch() -> None:
    gate = StrictGate(kernel_of(WIDTH))
    handle = table_of(CPU).register(3, [np.int32(7)], [])
    other = table_of(CPU).register(4, [np.int32(7)], [])

    def missing(number: int, device=CPU) -> tuple[str, ...]:
        return gate.missing((3,), (Argument(u64, (number,)), array(3)), device)

    assert missing(handle) == ()
    assert missing(handle, SIM) == ("handles",), "it is a resource of another device"
    assert missing(other) == ("handles",), "it is of another kind"
    table_of(CPU).release(handle)
    table_of(CPU).release(other)
    assert missing(handle) == ("handles",)
    assert missing(0) == ("handles",)


@wp.kernel(safety="strict")
def ahead(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = 1.0


def test_kernels_are_judged_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []

    def count(request: Request, **options: Any) -> Proof:
        asked.append(request)
        return ask(request, **options)

    monkeypatch.setattr(verify_strict, "ask", count)
    ahead.prepare()
    assert len(asked) == 1
    a = wp.zeros(3)
    wp.launch(ahead, dim=3, inputs=[a])
    assert (a.list(), len(asked)) == ([1.0] * 3, 1)


@wp.kernel(safety="strict")
def shifted(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] + 1.0


def test_of_arrays_that_overlap_it_is_said_which_must_not() -> None:
    a = wp.zeros(5)
    wp.launch(shifted, dim=4, inputs=[a[:4], a[:4]])
    assert a.list() == [1.0] * 4 + [0.0]
    with pytest.raises(wp.ProofError, match="elements of b are distinct and b and a do not") as e:
        wp.launch(shifted, dim=4, inputs=[a[:4], a[1:]])
    assert e.value.codes == ("H0606",)
    assert "def shifted" in str(e.value)
    assert a.list() == [1.0] * 4 + [0.0]
