"""From the plan of ``split_phases`` to WIR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial

from heald.artifact.abi import MAX_BLOCK_DIM
from heald.diagnostics import InternalError
from heald.ir import Kernel, Op, Region, Value
from heald.ops.threads import LANE_WIDTH
from heald.passes.liveness import carried_args, carried_inits
from heald.passes.meetings import is_shared_alloc
from heald.passes.phase_plan import Branch, Ending, Item, Loop, Mask, Meeting, Phase
from heald.passes.rebuild import Rebuild
from heald.types import Array, Scalar, Type, b1, i32, i64, leaves, u32

_WARPS = MAX_BLOCK_DIM // LANE_WIDTH


class PhaseWriter:
    """Writes phases and what stands between them.

    Args:
        kernel: the kernel that was planned.
        uniform: values that a block has once.
        slotted: values for which there is an array over the block.
        origin: the op that defines a value in a phase.
        canonical: whose array a carried value or result uses, where it is not its own.
    """

    def __init__(
        self,
        kernel: Kernel,
        uniform: Set[Value],
        slotted: Set[Value],
        origin: Mapping[Value, Op],
        canonical: Mapping[Value, Value],
    ) -> None:
        self.build = Rebuild(kernel)
        self._uniform, self._slotted = uniform, slotted
        self._origin, self._canonical = origin, canonical
        self._allocs: list[Op] = []
        self._arrays: dict[object, Value] = {}
        self._count: Value
        self._thread: Value

    def write(self, items: Sequence[Item]) -> Kernel:
        """The program of whole blocks."""
        build = self.build
        build.open()
        self._count = self._threads_here()
        self._emit(items)
        build.emit("return")
        ops = build.pop()
        attrs = {**build.kernel.attrs, "blocks": True}
        return build.finish(Region((), (*self._allocs, *ops)), attrs=attrs)

    def _threads_here(self) -> Value:
        """How many threads the block has; the last one may have fewer than others."""
        build = self.build
        total = build.const(i64, 1)
        for axis in range(4):
            (extent,) = build.emit("launch_dim", (), (i64,), axis=axis)
            total = build.op("imul", total, extent)
        size = build.op("sext", build.op("block_dim"), type=i64)
        first = build.op("imul", build.op("block_index", type=i64), size)
        left = build.op("smin", build.op("isub", total, first), size)
        return build.give_name(build.op("trunc", left, type=i32), "count")

    # -- arrays over the block ---------------------------------------------------------------------

    def _array(self, key: object, t: Type, extent: int = MAX_BLOCK_DIM, name: str = "") -> Value:
        found = self._arrays.get(key)
        if found is None:
            if isinstance(t, Array):
                assert t.shape is not None
                made = Array(t.dtype, t.ndim + 1, "local", (extent, *t.shape))
            else:
                assert isinstance(t, Scalar)
                made = Array(t, 1, "shared", (extent,))
            found = self._arrays[key] = Value(made)
            self._allocs.append(Op("alloc", (), (found,), span=self.build.span))
            if name:
                self.build.give_name(found, f"{name}_of")
        return found

    def _array_of(self, value: Value) -> Value:
        return self._array(value, value.type, name=self.build.name_of(value))

    def _load(self, array: Value, index: Value) -> Value:
        assert isinstance(array.type, Array)
        (value,) = self.build.emit("load", (array, index), (array.type.dtype,), guard=False, id=0)
        return value

    def _store(self, array: Value, index: Value, value: Value) -> None:
        self.build.emit("store", (array, index, value), guard=False, id=0)

    def _i32(self, number: int) -> Value:
        return self.build.const(i32, number)

    # -- items -------------------------------------------------------------------------------------

    def _emit(self, items: Sequence[Item]) -> None:
        for item in items:
            match item:
                case Phase():
                    self._phase(item)
                case Meeting():
                    self._meeting(item)
                case Branch():
                    self._branch(item)
                case Loop():
                    self._loop(item)
                case Op() if is_shared_alloc(item):
                    self._allocs.append(item)
                case Op():
                    self.build.copy(item)

    def _threads(self, body: Callable[[], None]) -> None:
        """What each thread of the block runs."""
        build = self.build
        build.open()
        self._thread = build.op("thread_index")
        body()
        build.emit("yield")
        build.emit("threads", (), (), (build.close(),))

    def _phase(self, phase: Phase) -> None:
        def run() -> None:
            if phase.mask is None:
                self._run(phase)
                return
            here = self._load(self._mask_array(phase.mask), self._thread)
            self._if(here, lambda: self._run(phase))

        self._threads(run)

    def _if(self, condition: Value, then: Callable[[], None]) -> None:
        build = self.build
        build.open()
        then()
        build.emit("yield")
        region = build.close()
        build.open()
        build.emit("yield")
        build.emit("if", (condition,), (), (region, build.close()))

    def _run(self, phase: Phase) -> None:
        """The ops of a phase between what it takes from arrays and what it leaves there."""
        build = self.build
        provided: set[Value] = set()
        for value in phase.uses():
            self._provide(value, provided)
        kept: list[Value] = []
        for op in phase.ops:
            build.span = op.span
            match op.name:
                case "shuffle":
                    build.put(op.result, self._source(op, phase.mask))
                case "vote":
                    warp = build.op("lshr", self._thread, self._i32(5))
                    build.put(op.result, self._load(self._array(op, op.result.type, _WARPS), warp))
                case "alloc" if op.result in self._slotted:
                    self._fresh_local(op)
                    continue
                case _:
                    build.copy(op)
            kept += [v for v in op.results if v in self._slotted]
        moved = [(self._array_of(v), build.get(v)) for v in kept]
        moved += [(self._exchange(op), build.get(op.operands[0])) for op in phase.left]
        moved += [(self._array_of(target), build.get(v)) for target, v in phase.moves]
        for array, value in moved:
            self._store(array, self._thread, value)

    def _exchange(self, op: Op) -> Value:
        """Where threads leave what they bring to a meeting."""
        return self._array((op, "given"), op.operands[0].type)

    def _provide(self, value: Value, provided: set[Value]) -> None:
        """Make a value that stands outside of a phase available in it."""
        if value in self._uniform or value in provided:
            return
        provided.add(value)
        slot = self._canonical.get(value, value)
        if slot in self._slotted:
            array = self._array_of(slot)
            if isinstance(value.type, Array):
                axes = "i" + "f" * value.type.ndim
                t = Array(value.type.dtype, value.type.ndim, "local")
                operands = (array, self._thread)
                view = self.build.emit("subview", operands, (t,), axes=axes, guard=False, id=0)
                self.build.put_all((value,), view)
            else:
                self.build.put(value, self._load(array, self._thread))
            return
        op = self._origin[value]
        for operand in op.operands:
            self._provide(operand, provided)
        self.build.copy(op)

    def _fresh_local(self, op: Op) -> None:
        """A local array that outlives its phase is a row of one over the block; zeroed here."""
        self._provide(op.result, set())
        row, t = self.build.get(op.result), op.result.type
        assert isinstance(t, Array)
        assert t.shape is not None
        self._zero(row, t, ())

    def _zero(self, row: Value, t: Array, index: tuple[Value, ...]) -> None:
        build = self.build
        assert t.shape is not None
        if len(index) == t.ndim:
            parts = leaves(t.dtype)
            for k, leaf in enumerate(parts):
                attrs = {} if isinstance(t.dtype, Scalar) else {"leaf": k}
                operands = (row, *index, build.zero(leaf))
                build.emit("store", operands, (), (), **attrs, guard=False, id=0)
            return

        def each(i: Value, *_: Value) -> tuple[Value, ...]:
            self._zero(row, t, (*index, i))
            return ()

        self._for(self._i32(0), self._i32(t.shape[len(index)]), (), each)

    def _for(
        self,
        low: Value,
        high: Value,
        inits: Sequence[Value],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """A loop that the block runs, or one thread."""
        build = self.build
        args = (Value(i32), *(Value(v.type) for v in inits))
        operands = (low, high, self._i32(1), *inits)
        build.open()
        build.emit("yield", body(*args))
        types = [v.type for v in inits]
        return build.emit("for", operands, types, (build.close(args),), guard=False, id=0)

    # -- meetings ----------------------------------------------------------------------------------

    def _source(self, op: Op, mask: Mask | None) -> Value:
        """What the thread that a shuffle names has left, or this one where that is not there."""
        build, thread = self.build, self._thread
        lane = build.op("iand", thread, self._i32(LANE_WIDTH - 1))
        by = build.get(op.operands[1])
        match op.attrs["mode"]:
            case "index":
                source = by
            case "up":
                source = build.op("isub", lane, by)
            case "down":
                source = build.op("iadd", lane, by)
            case "xor":
                source = build.op("ixor", lane, by)
            case mode:
                raise InternalError(f"shuffle has no mode {mode}")
        place = build.op("iadd", build.op("isub", thread, lane), source)
        tests = [
            build.op("icmp", source, self._i32(0), pred="sge"),
            build.op("icmp", source, self._i32(LANE_WIDTH), pred="slt"),
            build.op("icmp", place, self._count, pred="slt"),
        ]
        there = build.op("iand", build.op("iand", tests[0], tests[1]), tests[2])
        place = build.op("select", there, place, thread)
        if mask is not None:
            runs = self._load(self._mask_array(mask), place)
            place = build.op("select", runs, place, thread)
        return self._load(self._exchange(op), place)

    def _meeting(self, item: Meeting) -> None:
        """Count a vote, for the block or for each of its warps."""
        op, build = item.op, self.build
        build.span = op.span
        if op.attrs.get("scope") == "block":
            build.put(op.result, self._counted(item, self._i32(0), self._count))
            return
        result = self._array(op, op.result.type, _WARPS)
        last = build.op("iadd", self._count, self._i32(LANE_WIDTH - 1))
        warps = build.op("lshr", last, self._i32(5))

        def each(warp: Value) -> tuple[Value, ...]:
            low = build.op("imul", warp, self._i32(LANE_WIDTH))
            high = build.op("iadd", low, self._i32(LANE_WIDTH))
            high = build.op("smin", high, self._count)
            self._store(result, warp, self._counted(item, low, high))
            return ()

        self._for(self._i32(0), warps, (), each)

    def _counted(self, item: Meeting, low: Value, high: Value) -> Value:
        """What the threads from ``low`` to ``high`` say that take part."""
        build, mode = self.build, item.op.attrs["mode"]
        given = self._exchange(item.op)

        def each(i: Value, before: Value) -> tuple[Value, ...]:
            said = self._load(given, i)
            if item.mask is not None:
                here = self._load(self._mask_array(item.mask), i)
                if mode == "all":
                    said = build.op("ior", said, build.op("ixor", here, build.const(b1, True)))
                else:
                    said = build.op("iand", said, here)
            if mode == "ballot":
                lane = build.op("bitcast", build.op("isub", i, low), type=u32)
                bit = build.op("shl", build.const(u32, 1), lane)
                bit = build.op("select", said, bit, build.const(u32, 0))
                return (build.op("ior", before, bit),)
            return (build.op("iand" if mode == "all" else "ior", before, said),)

        start = build.const(u32, 0) if mode == "ballot" else build.const(b1, mode == "all")
        (result,) = self._for(low, high, (start,), each)
        return result

    # -- masks -------------------------------------------------------------------------------------

    def _mask_array(self, mask: Mask) -> Value:
        return self._array(mask, b1, name="runs")

    def _outer(self, mask: Mask) -> Value:
        if mask.outer is None:
            return self.build.const(b1, True)
        return self._load(self._mask_array(mask.outer), self._thread)

    def _find_mask(self, mask: Mask, before: Callable[[], Value]) -> None:
        """Note for each thread whether it runs what follows."""
        build = self.build

        def run() -> None:
            self._provide(mask.condition, set())
            holds = build.get(mask.condition)
            if not mask.wanted:
                holds = build.op("ixor", holds, build.const(b1, True))
            both = build.op("iand", before(), holds)
            self._store(self._mask_array(mask), self._thread, both)

        self._threads(run)

    def _some(self, mask: Mask) -> Value:
        """Does any thread of the block run what a mask stands for?"""
        array = self._mask_array(mask)

        def each(i: Value, before: Value) -> tuple[Value, ...]:
            return (self.build.op("ior", before, self._load(array, i)),)

        start = self.build.const(b1, False)
        (result,) = self._for(self._i32(0), self._count, (start,), each)
        return result

    # -- control -----------------------------------------------------------------------------------

    def _branch(self, item: Branch) -> None:
        build, op = self.build, item.op
        build.span = op.span
        if item.masks:
            for mask in item.masks:
                self._find_mask(mask, partial(self._outer, mask))
            for mask, arm in zip(item.masks, item.arms, strict=True):
                self._if(self._some(mask), partial(self._emit, arm))
            return
        condition = build.get(op.operands[0])
        regions = []
        for arm, ending in zip(item.arms, item.endings, strict=True):
            build.open()
            self._emit(arm)
            build.emit("yield", self._yielded(ending))
            regions.append(build.close())
        build.span = op.span
        results = [v for v in op.results if v in self._uniform]
        found = build.emit("if", (condition,), [v.type for v in results], regions)
        build.put_all(results, found)

    def _yielded(self, ending: Ending) -> tuple[Value, ...]:
        """What a region yields for the block."""
        pairs = zip(ending.targets, ending.values, strict=True)
        return self.build.get_all([v for t, v in pairs if t in self._uniform])

    def _loop(self, item: Loop) -> None:
        self.build.span = item.op.span
        if item.op.name == "for":
            self._counted_loop(item)
        else:
            self._while(item)

    def _counted_loop(self, item: Loop) -> None:
        build, op = self.build, item.op
        (args,) = carried_args(op)
        kept = [k for k, v in enumerate(args) if v in self._uniform]
        inits = build.get_all([carried_inits(op)[k] for k in kept])
        bounds = build.get_all(op.operands[:3])
        counter = op.regions[0].args[0]
        own = build.define_all([counter, *(args[k] for k in kept)])
        build.open()
        self._emit(item.body)
        build.emit("yield", self._yielded(item.ending))
        region = build.close(own)
        build.span = op.span
        types = [v.type for v in inits]
        found = build.emit("for", (*bounds, *inits), types, (region,), **op.attrs)
        build.put_all([op.results[k] for k in kept], found)

    def _while(self, item: Loop) -> None:
        """An endless loop that is left where the condition fails, or no thread is active."""
        build, op, active = self.build, item.op, item.active
        before, inside = carried_args(op)
        kept = [k for k, v in enumerate(inside) if v in self._uniform]
        inits = build.get_all([carried_inits(op)[k] for k in kept])
        types = [v.type for v in inits]
        if active is not None:
            array = self._mask_array(active)
            self._threads(lambda: self._store(array, self._thread, self._outer(active)))
        build.open()
        build.emit("yield", (build.const(b1, True),))
        endless = build.close([Value(t) for t in types])
        args = [Value(t) for t in types]
        for row in (before, inside):
            build.put_all([row[k] for k in kept], args)
        build.open()
        self._emit(item.test)
        if active is not None:
            self._find_mask(active, lambda: self._load(array, self._thread))
            going = self._some(active)
        else:
            going = build.get(op.regions[0].terminator.operands[0])
        build.open()
        build.emit("yield")
        then = build.close()
        build.open()
        build.emit("break", args)
        build.emit("if", (going,), (), (then, build.close()))
        self._emit(item.body)
        build.emit("yield", self._yielded(item.ending))
        region = build.close(args)
        build.span = op.span
        found = build.emit("while", inits, types, (endless, region))
        build.put_all([op.results[k] for k in kept], found)
