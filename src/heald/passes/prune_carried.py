"""Carried values that nobody needs to carry."""

from __future__ import annotations

from heald.ir import Kernel
from heald.passes.liveness import find_live, sweep


def prune_carried(kernel: Kernel) -> Kernel:
    """Remove carried values that are read only to carry them on.

    Before::

        %r, %s = for %lo, %hi, %step, %x, %y (%i, %p, %q) {
          %n = iadd %p, %i
          %m = fmul %q, %z
          store %a, %i, %m
          yield %n, %m
        }

    After, where nobody reads ``%r``::

        %s = for %lo, %hi, %step, %y (%i, %q) {
          %m = fmul %q, %z
          store %a, %i, %m
          yield %m
        }

    What the removed values were computed from goes too.  Values that never change have readers;
    ``forward_copies`` leads those to the initial value first.
    """
    return sweep(kernel, find_live(kernel, prune=True))
