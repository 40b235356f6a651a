"""Common subexpressions, by dominance of regions and versions of memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count

from heald.ir import LOOPS, STRUCTURAL, Effect, Kernel, Op
from heald.ops import TABLE
from heald.passes.facts import is_pure, space_of, written_space, written_spaces
from heald.passes.rebuild import Rebuild

_IGNORED = frozenset({"id", "guard"})
_REPEATABLE = (Effect.PURE, Effect.FAULT, Effect.READ | Effect.FAULT)


def eliminate_common_subexpressions(kernel: Kernel) -> Kernel:
    """Compute a value once where an equal computation dominates it.

    Before::

        %x = load %a, %i
        %y = iadd %i, %j
        %z = load %a, %i
        %w = iadd %i, %j
        store %b, %i, %z

    After::

        %x = load %a, %i
        %y = iadd %i, %j
        store %b, %i, %x

    Two ops are equal when name, operands, result types and attributes are; ids and guards do not
    count, since what the first op checked or was proved to need no check holds for the second.  Ops
    that can fault take part: where the second would fault the first has.  Loads take part while
    nothing that may write the same memory stands between, where any two arrays may overlap; a
    resource is read-only during a launch.
    """
    return _Eliminate(kernel).run()


class _Eliminate:
    """Keeps the ops that are available, scope by scope, and a version number for each memory."""

    def __init__(self, kernel: Kernel) -> None:
        self.build = Rebuild(kernel)
        self._written = written_spaces(kernel)
        self._available: dict[Hashable, Op] = {}
        self._undo: list[Hashable] = []
        self._versions = {"global": 0, "local": 0}
        self._fresh: Callable[[], int] = count(1).__next__

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> None:
        if op.regions:
            self._nest(op)
            return
        key = self._key(op)
        if key is None:
            self.build.copy(op)
            space = written_space(op)
            if space is not None:
                self._versions[space] = self._fresh()
            return
        known = self._available.get(key)
        if known is not None:
            self.build.put_all(op.results, known.results)
            return
        self._available[key] = self.build.copy(op)
        self._undo.append(key)

    def _key(self, op: Op) -> Hashable | None:
        """What equal ops agree on; None for ops that must stay as they are."""
        name = op.name
        version = 0
        if name == "load":
            version = self._versions[space_of(op)]
        elif name in STRUCTURAL:
            if not is_pure(op) and name != "subview":
                return None
        elif TABLE[name].effects not in _REPEATABLE or not op.results:
            return None
        attrs = [
            (key, value.hex() if type(value) is float else value)
            for key, value in op.attrs.items()
            if key not in _IGNORED
        ]
        if len(attrs) > 1:
            attrs.sort()
        types = tuple([v.type for v in op.results])
        return name, self.build.get_all(op.operands), tuple(attrs), types, version

    def _nest(self, op: Op) -> None:
        """Ops inside a region are not available after it; memory changes in any of them."""
        before = dict(self._versions)
        written = self._written[op]
        if op.name in LOOPS:
            self._bump(written)  # what an iteration reads, the one before it may have written
        inside = dict(self._versions)
        operands = self.build.get_all(op.operands)
        regions = []
        for region in op.regions:
            self._versions = dict(inside)
            mark = len(self._undo)
            regions.append(self.build.region(region, self._one))
            for key in self._undo[mark:]:
                del self._available[key]
            del self._undo[mark:]
        self.build.append(self.build.remade(op, operands, tuple(regions)))
        self._versions = before
        self._bump(written)

    def _bump(self, spaces: frozenset[str]) -> None:
        for space in spaces:
            self._versions[space] = self._fresh()
