"""What a kernel's ops, arrays and sizes are called in the user's source."""

from __future__ import annotations

from heald.artifact import Symbol
from heald.diagnostics import Span
from heald.diagnostics.spans import source_line
from heald.ir import MAX_RANK, Kernel, Op, Value, op_ids, walk
from heald.ops import PROMISES, role_of
from heald.ops.threads import PLACES
from heald.passes.meetings import shares_block
from heald.types import Array, Leaf, leaf_path, leaves


class Names:
    """Names and places of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._ops = {number: op for op, number in op_ids(kernel).items()}
        self._made = {value: op for op in walk(kernel.body) for value in op.results}

    def op(self, number: int) -> Op | None:
        """The op of an id."""
        return self._ops.get(number)

    def span(self, number: int) -> Span | None:
        """Where an op stands."""
        op = self._ops.get(number)
        return op.span if op is not None else self.kernel.span

    def line(self, number: int) -> str:
        """The line on which an op stands in the kernel itself, as words."""
        span = self.span(number)
        return f"line {span.outermost.line}" if span is not None else "the kernel"

    def source(self, number: int) -> str:
        """The text of an op in the source, where it is on one line and the file is there."""
        span = self.span(number)
        if span is None or span.line != span.end_line:
            return ""
        text = source_line(span)
        return text[span.col : span.end_col] if text else ""

    def promise(self, number: int) -> str:
        """A contract in the body as it was written; empty for other ops."""
        op = self._ops.get(number)
        return str(op.attrs.get("message", "")) if op is not None and op.name == "assume" else ""

    def promises(self) -> list[str]:
        """What the body promises, as it was written."""
        found = [op for op in self._ops.values() if op.name == "assume" and role_of(op) in PROMISES]
        return [str(op.attrs.get("message", "")) for op in found]

    def symbol(self, symbol: Symbol) -> str:
        """A launch size, such as ``dim[0]`` or ``a.shape[1]``."""
        if symbol.kind == "dim":
            return f"dim[{symbol.axis}]"
        if symbol.kind == "block":
            return "block_dim"
        name = self.argument(symbol.parameter, symbol.leaf)
        return f"{name}.shape[{symbol.axis}]" if symbol.kind == "shape" else name

    def symbols(self) -> dict[str, Symbol | tuple[Symbol, ...]]:
        """Every launch size by its name, and whole shapes by theirs."""
        dims = tuple(Symbol("dim", axis=axis) for axis in range(self.kernel.rank or MAX_RANK))
        found: dict[str, Symbol | tuple[Symbol, ...]] = {self.symbol(s): s for s in dims}
        found["dim"] = dims
        if shares_block(self.kernel) or any(op.name in PLACES for op in walk(self.kernel.body)):
            found["block_dim"] = Symbol("block")
        for number, parameter in enumerate(self.kernel.params):
            for k, leaf in enumerate(leaves(parameter.type)):
                symbols = _symbols(number, k, leaf)
                found |= {self.symbol(symbol): symbol for symbol in symbols}
                if isinstance(leaf, Array):
                    found[f"{self.argument(number, k)}.shape"] = tuple(symbols)
        return found

    def argument(self, number: int, leaf: int) -> str:
        """A parameter, or a leaf of one, such as ``s.positions``."""
        parameter = self.kernel.params[number]
        name = self.kernel.name_of(parameter) or f"argument {number}"
        path = leaf_path(parameter.type, leaf)
        if not path and not isinstance(parameter.type, Leaf):
            return f"{name}[{leaf}]"
        return ".".join([name, *path])

    def array(self, number: int) -> str:
        """The array that an op works on, by the parameter it comes from."""
        op = self._ops.get(number)
        if op is None or not op.operands:
            return "an array"
        return self._root(op.operands[0])

    def is_shared(self, number: int) -> bool:
        """Does an op access an array that a block shares?"""
        op = self._ops.get(number)
        t = op.operands[0].type if op is not None and op.operands else None
        return isinstance(t, Array) and t.space == "shared"

    def _root(self, value: Value) -> str:
        if value in self.kernel.params:
            return self.argument(self.kernel.params.index(value), 0)
        op = self._made.get(value)
        if op is not None and op.name == "subview":
            return self._root(op.operands[0])
        if op is not None and op.name == "extract" and op.operands[0] in self.kernel.params:
            leaf = op.attrs["leaf"]
            assert isinstance(leaf, int)
            return self.argument(self.kernel.params.index(op.operands[0]), leaf)
        return self.kernel.name_of(value) or "an array"


def _symbols(number: int, k: int, leaf: Leaf) -> list[Symbol]:
    if isinstance(leaf, Array):
        return [Symbol("shape", number, k, axis) for axis in range(leaf.ndim)]
    return [Symbol("value", number, k)] if leaf.is_integer else []
