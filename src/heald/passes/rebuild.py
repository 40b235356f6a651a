"""``Rebuild``: the one helper that passes share.  A builder that also knows what became of each old
value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from heald.ir import Attr, Builder, Kernel, Op, Region, Value
from heald.ops import TABLE
from heald.types import Scalar

Visit = Callable[[Op], bool | None]
"""Emits what an op becomes.  True says that the region has ended: what follows is unreachable."""


class Rebuild(Builder):
    """Builds the kernel that a pass makes of another.

    Ops that do not change are reused, with their results; an op copied for the second time is
    another op, with fresh results of the same names.  So a pass that changes nothing gives back the
    kernel it was given, and unrolling needs no code of its own for renaming.

    ``note`` sees every op that is appended.
    """

    def __init__(self, kernel: Kernel, note: Callable[[Op], None] | None = None) -> None:
        super().__init__(TABLE)
        self.kernel = kernel
        self._note = note
        self.names: dict[Value, str] = {}
        self._map: dict[Value, Value] = {}
        self._defined: set[Value] = set()
        self._reused: set[Op] = set()

    # -- values ------------------------------------------------------------------------------------

    def get(self, value: Value) -> Value:
        """What an old value is now."""
        return self._map.get(value, value)

    def get_all(self, values: Iterable[Value]) -> tuple[Value, ...]:
        """What old values are now."""
        found = self._map.get
        return tuple([found(v, v) for v in values])

    def put(self, old: Value, new: Value) -> None:
        """From here on ``old`` is ``new``, which takes over its name when it has none."""
        self._map[old] = new
        if old is not new:
            self._take_name(old, new)

    def put_all(self, old: Iterable[Value], new: Iterable[Value]) -> None:
        """From here on each of ``old`` is the one of ``new`` at its place."""
        for before, after in zip(old, new, strict=True):
            self.put(before, after)

    def define(self, value: Value) -> Value:
        """The value that stands for ``value`` in a copy: itself the first time, then fresh ones."""
        if value not in self._defined:
            self._defined.add(value)
            return value
        fresh = Value(value.type)
        self.put(value, fresh)
        return fresh

    def define_all(self, values: Iterable[Value]) -> tuple[Value, ...]:
        """:meth:`define` for each value."""
        return tuple([self.define(v) for v in values])

    def name_of(self, value: Value) -> str:
        """The name of an old or new value, or an empty string."""
        return self.names.get(value) or self.kernel.name_of(value)

    def give_name(self, value: Value, name: str) -> Value:
        """Name a value that has no name yet; gives the value."""
        if name and not self.name_of(value):
            self.names[value] = name
        return value

    def _take_name(self, old: Value, new: Value) -> None:
        name = self.kernel.names.get(old) or self.names.get(old)
        if name:
            self.give_name(new, name)

    # -- ops ---------------------------------------------------------------------------------------

    def append(self, op: Op) -> Op:
        """Append an op that exists already to the innermost open list."""
        if self._note is not None:
            self._note(op)
        return super().append(op)

    def append_at(self, depth: int, op: Op) -> None:
        """Append an op to the open list around which there are ``depth`` others."""
        self._stack[depth].append(op)

    def copy(self, op: Op, visit: Visit | None = None) -> Op:
        """The op again on what its operands are now; its regions by ``visit``, or copied too.

        A hook handles ``visit`` first and calls this for the ops that it leaves alone.
        """
        operands = self.get_all(op.operands)
        regions = tuple([self.region(r, visit) for r in op.regions]) if op.regions else ()
        return self.append(self.remade(op, operands, regions))

    def remade(
        self,
        op: Op,
        operands: tuple[Value, ...],
        regions: tuple[Region, ...] = (),
        attrs: Mapping[str, Attr] | None = None,
    ) -> Op:
        """``op`` with other operands, regions and attributes, itself where nothing differs; not
        appended.
        """
        results = self.define_all(op.results)
        same = attrs is None and results == op.results and operands == op.operands
        if same and all(new is old for new, old in zip(regions, op.regions, strict=True)):
            if op not in self._reused:  # an op stands in one place only: analyses go by identity
                self._reused.add(op)
                return op
            attrs = op.attrs
        return Op(
            op.name, operands, results, op.attrs if attrs is None else attrs, regions, op.span
        )

    def region(self, region: Region, visit: Visit | None = None) -> Region:
        """A region again, each op by ``visit``, or copied; itself where nothing differs."""
        args = self.define_all(region.args)
        self.open()
        self.visit_all(region.ops, visit)
        return self.closed(region, args)

    def visit_all(self, ops: Iterable[Op], visit: Visit | None = None) -> bool:
        """Emit ops by ``visit`` until one says that the region has ended."""
        if visit is None:
            for op in ops:
                self.copy(op)
            return False
        return any(visit(op) for op in ops)

    def closed(self, region: Region, args: tuple[Value, ...]) -> Region:
        """End the innermost list as what ``region`` became."""
        ops = tuple(self.pop())
        if args == region.args and ops == region.ops:
            return region
        return Region(args, ops)

    # -- constants ---------------------------------------------------------------------------------

    def scalar_const(self, value: Value, number: bool | int | float) -> Value:
        """A constant of the scalar type of ``value``."""
        assert isinstance(value.type, Scalar)
        return self.const(value.type, number)

    # -- kernels -----------------------------------------------------------------------------------

    def finish(self, body: Region, **changes: Any) -> Kernel:
        """The new kernel; the old one where nothing differs."""
        if body is self.kernel.body and not changes:
            return self.kernel
        if self.names:
            changes["names"] = {**self.kernel.names, **self.names}
        return replace(self.kernel, body=body, **changes)

    def rebuilt(self, visit: Visit | None = None) -> Kernel:
        """The new kernel whose body is the old one's, each op by ``visit``."""
        return self.finish(self.region(self.kernel.body, visit))
