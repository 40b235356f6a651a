"""Carried values that nobody needs to carry."""

from __future__ import annotations

from heald.ir import LOOPS, Kernel, Region, Value
from heald.passes.liveness import carried_args, carried_inits, ends_of, find_live, sweep
from heald.passes.rebuild import Rebuild


def prune_carried(kernel: Kernel) -> Kernel:
    """Remove carried values that are read only to carry them on, and those that never change.

    Before::

        %r, %s = for %lo, %hi, %step, %x, %y (%i, %p, %q) {
          %n = iadd %p, %i
          store %a, %i, %q
          yield %n, %q
        }

    After, where nobody reads ``%r``::

        for %lo, %hi, %step (%i) {
          store %a, %i, %y
          yield
        }

    What the removed values were computed from goes too.
    """
    settled = _settle(kernel)
    return sweep(settled, find_live(settled, prune=True))


def _settle(kernel: Kernel) -> Kernel:
    """Read the initial value of a carried value that no iteration changes instead of the carried
    one.
    """
    settled: dict[Value, Value] = {}
    _find_unchanged(kernel.body, settled)
    if not settled:
        return kernel
    rebuild = Rebuild(kernel)
    for value in settled:
        rebuild.put(value, _resolve(value, settled))
    return rebuild.rebuilt()


def _find_unchanged(region: Region, settled: dict[Value, Value]) -> None:
    """Enter what stands for each unchanged carried value, innermost loops first."""
    for op in region.ops:
        for inner in op.regions:
            _find_unchanged(inner, settled)
        if op.name not in LOOPS or not op.results:
            continue
        ends = ends_of(op)
        for k, (start, arg) in enumerate(zip(carried_inits(op), carried_args(op)[-1], strict=True)):
            init = _resolve(start, settled)
            if all(_resolve(end.operands[k], settled) in (init, arg) for end in ends):
                for args in carried_args(op):
                    settled[args[k]] = init
                settled[op.results[k]] = init


def _resolve(value: Value, settled: dict[Value, Value]) -> Value:
    while value in settled:
        value = settled[value]
    return value
