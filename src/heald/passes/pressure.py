"""How many vectors a widened kernel holds at once."""

from __future__ import annotations

from dataclasses import dataclass

from heald.ir import LOOPS, Kernel, Op, Region, Value, walk
from heald.passes.facts import is_pure
from heald.passes.uniformity import Uniformity
from heald.types import Scalar, b1

_ASIDE = 16


def most_alive(kernel: Kernel, uniformity: Uniformity, itemsize: int) -> int:
    """The largest number of vectors that are needed again later.

    Values that lanes share or that grow evenly are none, nor are conditions; numbers of more than
    ``itemsize`` bytes are several.  Left out are long branches that only compute, such as the rare
    ways of functions: they are skipped where no lane takes them.
    """
    pressure = _Pressure(uniformity, itemsize)
    pressure.region(kernel.body, set())
    return pressure.most


@dataclass(slots=True)
class _Pressure:
    uniformity: Uniformity
    itemsize: int
    most: int = 0

    def region(self, region: Region, after: set[Value]) -> set[Value]:
        """What is alive before a region, where ``after`` is alive behind it."""
        alive = set(after)
        for op in reversed(region.ops):
            self._count(alive.union(op.results))
            alive.difference_update(op.results)
            if op.regions:
                inside = alive | (_used(op) if op.name in LOOPS else set())
                for inner in op.regions:
                    most = self.most
                    alive |= self.region(inner, inside)
                    if op in self.uniformity.divergent and _is_aside(inner):
                        self.most = most
            alive.update(op.operands)
        return alive.difference(region.args)

    def _count(self, alive: set[Value]) -> None:
        self.most = max(self.most, sum(map(self._vectors, alive)))

    def _vectors(self, value: Value) -> int:
        t = value.type
        if value in self.uniformity.steps or not isinstance(t, Scalar) or t is b1:
            return 0
        return max(1, t.bits // 8 // self.itemsize)


def _is_aside(region: Region) -> bool:
    ops = list(walk(region))
    return len(ops) > _ASIDE and all(is_pure(op) or op.name in ("yield", "if") for op in ops)


def _used(op: Op) -> set[Value]:
    """What a loop uses of what is made before it, so that it is alive through all iterations."""
    inner = [o for region in op.regions for o in walk(region)]
    regions = [*op.regions, *(region for o in inner for region in o.regions)]
    made = {v for o in inner for v in o.results} | {v for r in regions for v in r.args}
    return {v for o in inner for v in o.operands} - made
