"""Barriers for shared arrays that ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from heald.diagnostics import CompileError, Diagnostic
from heald.ir import ATOMICS, LOOPS, Kernel, Op, Region, Value, walk
from heald.ops.threads import synchronises_block
from heald.passes.block_uniformity import BlockUniformity, analyse_block_uniformity
from heald.passes.meetings import is_shared_alloc
from heald.passes.normalise_exits import normalise_exits
from heald.passes.phase_plan import free_values
from heald.passes.rebuild import Rebuild
from heald.types import Array

Uses = frozenset[tuple[Value, str]]
"""Shared arrays with what is done to them: ``read``, ``write`` or ``update``."""

_NONE: Uses = frozenset()


def place_barriers(kernel: Kernel) -> Kernel:
    """Put barriers between conflicting accesses of shared arrays declared with ``sync="auto"``.

    Before::

        %s: shared<f32,64> = alloc [sync="auto"]
        store %s, %t, %x
        %y = load %s, %u

    After::

        %s: shared<f32,64> = alloc
        store %s, %t, %x
        block_sync
        %y = load %s, %u

    Any two accesses of one array conflict, whatever their indices, unless both read or both are
    atomic.  A barrier stands right before the second one, where all threads come by; a branch that
    may part them is cut in two, with the barrier in between.  In loops the accesses of the
    iteration before count.  Exits are normalised first.

    Raises:
        CompileError: a loop in a branch that may part the threads needs a barrier inside (H0408).
    """
    if not any(_is_automatic(op) for op in kernel.body.ops):
        return kernel
    normal = normalise_exits(kernel)
    plan = _Plan(normal)
    plan.run()
    return _Placement(normal, plan).run()


def _is_automatic(op: Op) -> bool:
    return is_shared_alloc(op) and op.attrs.get("sync") == "auto"


def _conflict(before: Uses, uses: Uses) -> bool:
    return any(
        array is other and not (how == again and how != "write")
        for array, how in before
        for other, again in uses
    )


@dataclass(slots=True)
class _Segment:
    """Ops of one arm of a branch that is cut, and the access for which a barrier stands before."""

    arm: int
    ops: list[Op] = field(default_factory=list)
    barrier: Op | None = None


@dataclass(slots=True)
class _Plan:
    """Where barriers are needed.

    Attributes:
        before: ops with a barrier right before them, each with the access that needs it.
        cut: branches that are cut.
    """

    kernel: Kernel
    before: dict[Op, Op] = field(default_factory=dict)
    cut: dict[Op, list[_Segment]] = field(default_factory=dict)
    _root: dict[Value, Value] = field(default_factory=dict)

    def run(self) -> None:
        """Look for conflicts until no more are found."""
        for op in walk(self.kernel.body):
            if _is_automatic(op):
                self._root[op.result] = op.result
            elif op.name == "subview" and op.operands[0] in self._root:
                self._root[op.result] = self._root[op.operands[0]]
        known = analyse_block_uniformity(self.kernel, everywhere=True)
        self._sequence(self.kernel.body.ops, _NONE, known)

    def _uses(self, ops: Iterable[Op]) -> Uses:
        found: set[tuple[Value, str]] = set()
        for op in ops:
            root = self._root.get(op.operands[0]) if op.operands else None
            if root is not None and op.name in ("load", "store"):
                found.add((root, "read" if op.name == "load" else "write"))
            elif root is not None and op.name in ATOMICS:
                found.add((root, "update"))
            for region in op.regions:
                found |= self._uses(region.ops)
        return frozenset(found)

    def _meet(self, op: Op, state: Uses, coming: Sequence[Op]) -> Uses:
        """The uses since the last barrier, right before ``op``, behind which ``coming`` run."""
        if op not in self.before and _conflict(state, self._uses(coming)):
            self.before[op] = self._first(state, coming)
        return _NONE if op in self.before else state

    def _first(self, state: Uses, ops: Sequence[Op]) -> Op:
        """The first access among ``ops`` that conflicts with the uses before them."""
        inner = (found for op in ops for found in walk(Region((), (op,))))
        return next(op for op in inner if not op.regions and _conflict(state, self._uses((op,))))

    def _sequence(self, ops: Sequence[Op], state: Uses, known: BlockUniformity) -> Uses:
        """Walk what all threads of the block run; gives the uses since the last barrier."""
        for op in ops:
            if synchronises_block(op):
                state = _NONE
            elif op.name in LOOPS:
                state = self._loop(op, state, known)
            elif op.name == "if" and known.decides(op):
                state = self._meet(op, state, ())
                arms = [self._sequence(region.ops, state, known) for region in op.regions]
                state = arms[0] | arms[1]
            elif op.name == "if":
                state = self._branch(op, state)
            else:
                state = self._meet(op, state, (op,)) | self._uses((op,))
        return state

    def _loop(self, op: Op, state: Uses, known: BlockUniformity) -> Uses:
        condition = op.regions[0].ops if op.name == "while" else ()
        asked = self._uses(condition)
        state = self._meet(op, state, condition)
        body = op.regions[-1]
        while True:
            marks = len(self.before)
            end = self._sequence(body.ops[:-1], state | asked, known)
            end = self._meet(body.terminator, end, condition)
            if state | end == state and len(self.before) == marks:
                return state | asked
            state = state | end

    def _branch(self, op: Op, state: Uses) -> Uses:
        """A branch that may part the threads: those of both arms run side by side."""
        segments: list[_Segment] = []
        uses = _NONE
        for arm, region in enumerate(op.regions):
            segments.append(_Segment(arm))
            for inner in region.ops[:-1]:
                self._refuse_inner(inner)
                own = self._uses((inner,))
                if _conflict(uses, own):
                    if segments[-1].ops:
                        segments.append(_Segment(arm))
                    segments[-1].barrier = self._first(uses, (inner,))
                    uses = _NONE
                segments[-1].ops.append(inner)
                uses |= own
        state = self._meet(op, state, (op,))
        if all(segment.barrier is None for segment in segments):
            return state | uses
        self.cut[op] = segments
        return uses

    def _refuse_inner(self, op: Op) -> None:
        """Inside of a branch that may part the threads nothing else is cut."""
        for region in op.regions:
            seen = self._uses(region.ops) if op.name in LOOPS else _NONE
            for inner in region.ops:
                self._refuse_inner(inner)
                own = self._uses((inner,))
                if _conflict(seen, own):
                    raise CompileError(_no_place(inner))
                seen |= own


def _no_place(op: Op) -> Diagnostic:
    return Diagnostic(
        "H0408",
        "a barrier is needed here, where some threads of the block may not come",
        op.span,
        hint="move the branch into the loop, or declare the array without sync='auto' and place "
        "the barriers",
    )


class _Placement:
    """Writes the kernel with its barriers."""

    def __init__(self, kernel: Kernel, plan: _Plan) -> None:
        self.build = Rebuild(kernel)
        self._plan = plan
        self._origin = {v: op for op in walk(kernel.body) for v in op.results}

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> None:
        access = self._plan.before.get(op)
        if access is not None:
            self._wait(access)
        segments = self._plan.cut.get(op)
        if segments is not None:
            self._cut(op, segments)
        elif _is_automatic(op):
            attrs = {k: v for k, v in op.attrs.items() if k != "sync"}
            self.build.append(Op("alloc", (), op.results, attrs, (), op.span))
        else:
            self.build.copy(op, self._one)

    def _wait(self, access: Op) -> None:
        """A barrier, whose place is that of the access that needs it."""
        self.build.span = access.span
        self.build.emit("block_sync")

    def _cut(self, op: Op, segments: Sequence[_Segment]) -> None:
        """One branch for each segment; what later ones need is handed on."""
        build = self.build
        condition = build.get(op.operands[0])
        yielded = [region.terminator.operands for region in op.regions]
        for k, segment in enumerate(segments):
            if segment.barrier is not None:
                self._wait(segment.barrier)
            if not segment.ops:
                continue
            earlier = {o for s in segments[:k] for o in s.ops}
            later = [o for s in segments[k + 1 :] if s.arm == segment.arm for o in s.ops]
            wanted = {*free_values((Region((), tuple(later)),)), *yielded[segment.arm]}
            live = [v for o in segment.ops for v in o.results if v in wanted]
            kept = [v for v in live if not isinstance(v.type, Array)]
            build.open()
            self._remake_arrays(segment, earlier)
            build.visit_all(segment.ops, self._one)
            build.span = op.span
            build.emit("yield", build.get_all(kept))
            own = build.close()
            build.open()
            build.emit("yield", [build.zero(v.type) for v in kept])
            regions = (own, build.close()) if segment.arm == 0 else (build.close(), own)
            found = build.emit("if", (condition,), [v.type for v in kept], regions)
            build.put_all(kept, found)
        if op.results:
            self._join(op, condition, yielded)

    def _remake_arrays(self, segment: _Segment, inside: set[Op]) -> None:
        """Views that an earlier segment made: arrays do not pass through branches."""
        own = {v for op in segment.ops for v in op.results}
        for value in dict.fromkeys(free_values((Region((), tuple(segment.ops)),))):
            op = self._origin.get(value)
            if value in own or op not in inside:
                continue
            if op.name == "alloc":
                raise CompileError(_no_place(op))
            if isinstance(value.type, Array):
                self.build.copy(op)

    def _join(self, op: Op, condition: Value, yielded: Sequence[Sequence[Value]]) -> None:
        build = self.build
        regions = []
        for values in yielded:
            build.open()
            build.emit("yield", build.get_all(values))
            regions.append(build.close())
        types = [v.type for v in op.results]
        build.put_all(op.results, build.emit("if", (condition,), types, regions))
