"""Results and carried values that are always one and the same other value."""

from __future__ import annotations

from dataclasses import dataclass, field

from heald.ir import LOOPS, Kernel, Op, Region, Value
from heald.passes.liveness import carried_args, carried_inits, ends_of
from heald.passes.rebuild import Rebuild


def forward_copies(kernel: Kernel) -> Kernel:
    """Read the value itself where a branch, loop or scope only hands it on.

    Before::

        %s, %n = for %lo, %hi, %step, %x, %k (%i, %a, %b) {
          %t = fadd %a, %b
          yield %t, %b
        }

    After::

        %s, %n = for %lo, %hi, %step, %x, %k (%i, %a, %b) {
          %t = fadd %a, %k
          yield %t, %k
        }

    and what read %n reads %k.  ``prune_carried`` then removes what nobody reads.  Values that go in
    circles through nested loops and scopes are found together: every one is taken for a copy until
    something else flows into it (sparse conditional propagation, M. N. Wegman and F. K. Zadeck,
    "Constant propagation with conditional branches", 1991, of values instead of constants).
    """
    copies = _Copies()
    copies.collect(kernel.body, None)
    found = copies.solve()
    if not found:
        return kernel
    rebuild = Rebuild(kernel)
    for old, new in found.items():
        rebuild.put(old, new)
    return rebuild.rebuilt()


@dataclass(slots=True)
class _Copies:
    """The values that others flow into.

    Attributes:
        ways: for each such value what flows into it.
        home: the region that defines a value; parameters have none.
        parent: the region around a region.
        place: for each value with ways, the region in which the op that defines it stands.
    """

    ways: dict[Value, list[Value]] = field(default_factory=dict)
    home: dict[Value, Region] = field(default_factory=dict)
    parent: dict[Region, Region | None] = field(default_factory=dict)
    place: dict[Value, Region] = field(default_factory=dict)

    def collect(self, region: Region, outer: Region | None) -> None:
        """Note what flows where in a region."""
        self.parent[region] = outer
        self.home.update(dict.fromkeys(region.args, region))
        for op in region.ops:
            self.home.update(dict.fromkeys(op.results, region))
            if op.regions:
                self._note(op, region)
            for inner in op.regions:
                self.collect(inner, region)

    def _note(self, op: Op, region: Region) -> None:
        ends = ends_of(op)
        again = [end for end in ends if end.name != "break"]
        for k, result in enumerate(op.results):
            first = [carried_inits(op)[k]] if op.name in LOOPS else []
            self._flow(result, first + [end.operands[k] for end in ends], region)
            if op.name in LOOPS:
                for args in carried_args(op):
                    self._flow(args[k], first + [end.operands[k] for end in again], region)

    def _flow(self, target: Value, sources: list[Value], region: Region) -> None:
        self.ways[target], self.place[target] = sources, region

    def solve(self) -> dict[Value, Value]:
        """The values that are copies, each with what it is a copy of."""
        known: dict[Value, Value] = {}
        changed = True
        while changed:
            changed = False
            for target, sources in self.ways.items():
                if known.get(target) is target:
                    continue
                found = self._only(target, sources, known)
                if found is not None and known.get(target) is not found:
                    known[target] = found
                    changed = True
        return {target: value for target, value in known.items() if value is not target}

    def _only(self, target: Value, sources: list[Value], known: dict[Value, Value]) -> Value | None:
        """The one value that flows into ``target``, itself where there are several, None so far."""
        only: Value | None = None
        for source in sources:
            value = known.get(source) if source in self.ways else source
            if value is None or value is target:
                continue
            if only is not None and value is not only:
                return target
            only = value
        return only if only is None or self._is_visible(only, target) else target

    def _is_visible(self, value: Value, target: Value) -> bool:
        home = self.home.get(value)
        region: Region | None = self.place[target]
        while region is not None and region is not home:
            region = self.parent[region]
        return region is home
