"""Dead code."""

from __future__ import annotations

from heald.ir import Kernel
from heald.passes.liveness import find_live, sweep


def drop_dead(kernel: Kernel) -> Kernel:
    """Remove ops that nobody reads and that do nothing else, and unread results of ``if`` and
    ``scope``.

    Before::

        %x = load %a, %i
        %y: f32, %z: f32 = if %c () {
          yield %p, %q
        } () {
          yield %q, %p
        }
        store %a, %i, %z

    After::

        %z: f32 = if %c () {
          yield %q
        } () {
          yield %p
        }
        store %a, %i, %z

    A dead access goes, and its fault with it; ``assert``, ``assume`` and ``printf`` stay, and so
    does every ``while``, which might run forever, and every ``for`` whose step might be 0.
    """
    return sweep(kernel, find_live(kernel, prune=False))
