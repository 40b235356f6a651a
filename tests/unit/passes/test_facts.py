"""Facts about ops that several passes ask for."""

import pytest

from heald.ir import Kernel, Op, parse, walk
from heald.ops import TABLE
from heald.passes.facts import constants_of, gather, known_trips, written_spaces

NESTED = """
kernel @nested<0>(%a: array<f32,1>) {
  %zero: i32 = const [value=0]
  %yes: b1 = const [value=true]
  %x: f32 = const [value=0x1p+0]
  if %yes () {
    if %yes () {
      store %a, %zero, %x
      yield
    } () {
      yield
    }
    yield
  } () {
    if %yes () {
      yield
    } () {
      yield
    }
    yield
  }
  return
}
"""


def nested() -> tuple[Kernel, list[Op]]:
    kernel = parse(NESTED, TABLE)
    return kernel, [op for op in walk(kernel.body) if op.name == "if"]


def test_what_lies_inside_is_found_at_every_level() -> None:
    kernel, (outer, writing, idle) = nested()
    found = gather(kernel, lambda op: op.name if op.name != "yield" else None)
    assert found == {outer: {"if", "store"}, writing: {"store"}, idle: frozenset()}
    assert written_spaces(kernel) == {outer: {"global"}, writing: {"global"}, idle: frozenset()}


def test_every_op_is_asked_once() -> None:
    kernel, _ = nested()
    asked: list[Op] = []
    gather(kernel, asked.append)
    assert sorted(map(id, asked)) == sorted(map(id, walk(kernel.body)))


LOOP = """
kernel @loop<0>(%n: i64) {{
  %lo: i64 = const [value={}]
  %hi: i64 = const [value={}]
  %step: i64 = const [value={}]
  for %lo, %hi, %step (%k: i64) {{
    yield
  }}
  return
}}
"""


@pytest.mark.parametrize("step", [1, 3, 7, -1, -3, -7])
def test_known_trips(step: int) -> None:
    for lo in range(-4, 5):
        for hi in range(-4, 5):
            kernel = parse(LOOP.format(lo, hi, step), TABLE)
            (loop,) = [op for op in walk(kernel.body) if op.name == "for"]
            assert known_trips(loop, constants_of(kernel)) == len(range(lo, hi, step))


def test_known_trips_of_most() -> None:
    kernel = parse(LOOP.format(-(1 << 63), (1 << 63) - 1, 1), TABLE)
    (loop,) = [op for op in walk(kernel.body) if op.name == "for"]
    assert known_trips(loop, constants_of(kernel)) == (1 << 64) - 1
    assert known_trips(loop, {}) is None
