"""Which values decide where a thread goes and what it touches.

Those are computed exactly.  Of all others, which are only stored or fed into floats, the prover
knows that equal operands give equal results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from heald.ir import LOOPS, MEMORY, Kernel, Op, Region, Value, walk
from heald.passes.array_roots import array_roots
from heald.passes.facts import DIVISIONS
from heald.types import Array, Scalar

_ENDS = ("yield", "break", "continue", "return")


def exact_values(kernel: Kernel, promised: Collection[int] = ()) -> frozenset[Value]:
    """Values from which indices, extents, divisors, loop bounds and conditions are computed.

    ``promised`` are the numbers of array parameters into which nothing but certain numbers may be
    stored: what is stored there is exact, too.
    """
    return _Slice(kernel).run(_stored(kernel, promised) if promised else ())


def _stored(kernel: Kernel, promised: Collection[int]) -> Iterator[Value]:
    roots = array_roots(kernel)
    for op in walk(kernel.body):
        changes = op.name in MEMORY and op.name != "load"
        if changes and any(number in promised for number, _ in roots.get(op.operands[0], ())):
            array = op.operands[0].type
            assert isinstance(array, Array)
            yield from op.operands[1 + array.ndim :]


class _Slice:
    """A backward walk over definitions, through the regions of ops."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._sources: dict[Value, list[Value]] = {}
        self._found: set[Value] = set()
        self._work: list[Value] = []

    def run(self, more: Iterable[Value]) -> frozenset[Value]:
        self._enter(self._kernel.body, [], [])
        self._mark(more)
        for op in walk(self._kernel.body):
            self._mark(_deciding(op))
        while self._work:
            self._mark(self._sources.get(self._work.pop(), ()))
        return frozenset(self._found)

    def _mark(self, values: Iterable[Value]) -> None:
        for value in values:
            if value not in self._found and not isinstance(value.type, Array):
                self._found.add(value)
                self._work.append(value)

    def _flow(self, targets: Iterable[Value], values: Iterable[Value]) -> None:
        for target, value in zip(targets, values, strict=True):
            self._sources.setdefault(target, []).append(value)

    def _enter(self, region: Region, loops: list[Op], scopes: list[Op]) -> None:
        for op in region.ops:
            match op.name:
                case "break" if loops:
                    self._flow(loops[-1].results, op.operands)
                case "continue" if loops:
                    self._flow_back(loops[-1], op.operands)
                case "return" if scopes:
                    self._flow(scopes[-1].results, op.operands)
                case name if name in _ENDS:
                    pass
                case _ if op.regions:
                    self._enter_regions(op, loops, scopes)
                case _:
                    self._flow_op(op)

    def _enter_regions(self, op: Op, loops: list[Op], scopes: list[Op]) -> None:
        if op.name == "scope":
            self._enter(op.regions[0], [], [*scopes, op])
            return
        inner = [*loops, op] if op.name in LOOPS else loops
        for region in op.regions:
            self._enter(region, inner, scopes)
        end = op.regions[-1].terminator
        if op.name in LOOPS:
            inits = op.operands[len(op.operands) - len(op.results) :]
            self._flow_back(op, inits)
            if end.name == "yield":
                self._flow_back(op, end.operands)
            if op.name == "for":
                self._sources.setdefault(op.regions[0].args[0], []).extend(op.operands[:3])
            return
        for region in op.regions:
            if region.terminator.name == "yield":
                self._flow(op.results, region.terminator.operands)

    def _flow_back(self, loop: Op, values: Iterable[Value]) -> None:
        """Values of the next iteration, which are also results when it is the last."""
        given = tuple(values)
        for region in loop.regions:
            self._flow(region.args[len(region.args) - len(given) :], given)
        self._flow(loop.results, given)

    def _flow_op(self, op: Op) -> None:
        """A result that is a number or a truth value tells its operands that are such, too."""
        if op.name in MEMORY or op.name == "subview":
            return
        for result in op.results:
            if not isinstance(result.type, Scalar) or not result.type.is_float:
                self._sources[result] = [v for v in op.operands if not _is_float(v)]


def _is_float(value: Value) -> bool:
    return isinstance(value.type, Scalar) and value.type.is_float


def _deciding(op: Op) -> tuple[Value, ...]:
    """Operands that decide what an op does, rather than what it computes."""
    match op.name:
        case "for":
            return op.operands[:3]
        case "while":
            return op.regions[0].terminator.operands
        case "if" | "assert" | "assume":
            return op.operands[:1]
        case "subview":
            return op.operands[1:]
        case "resource_array" | "resource_scalar":
            return op.operands
        case name if name in MEMORY:
            array = op.operands[0].type
            assert isinstance(array, Array)
            return op.operands[1 : 1 + array.ndim]
        case name if name in DIVISIONS:
            return op.operands[1:]
        case _:
            return ()
