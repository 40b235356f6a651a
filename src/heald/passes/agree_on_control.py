"""Branches and loops in which the threads of a block meet: all go one way, or all fault."""

from __future__ import annotations

from heald.ir import Attr, Kernel, Op, Value, walk
from heald.passes.block_uniformity import BlockUniformity, analyse_block_uniformity
from heald.passes.facts import constants_of
from heald.passes.liveness import carried_args, carried_inits
from heald.passes.meetings import meeting_of, meetings_of
from heald.passes.normalise_exits import Counter
from heald.passes.rebuild import Rebuild
from heald.types import b1, u64


def agree_on_control(kernel: Kernel) -> Kernel:
    """Let a block vote on each branch whose condition might part its threads before a barrier.

    Before::

        if %c () {
          block_sync
          yield
        } () {
          yield
        }

    After::

        %some: b1 = vote %c [mode="any", scope="block"]
        %every: b1 = vote %c [mode="all", scope="block"]
        %parted: b1 = ixor %some, %every
        %whole: b1 = ixor %parted, %true
        assert %whole [kind="divergence", ...]
        if %some () {
        ...

    Conditions that are the same for a block by what they are made of stay as they are.  A ``while``
    votes at the head of its body, and a ``for`` whose bounds might differ becomes a ``while``; so
    does one in which only the threads of warps meet, whose bounds may differ.  The kernel has no
    exits, and guards are decided.
    """
    if not any(meetings_of(kernel).values()) and not _branches(kernel):
        return kernel
    return _Agree(_Count(kernel).run()).run()


def _branches(kernel: Kernel) -> bool:
    return any(op.name == "if" and meeting_of(*op.regions) for op in walk(kernel.body))


class _Count:
    """Makes a ``while`` of every ``for`` in which threads meet and whose bounds may differ."""

    def __init__(self, kernel: Kernel) -> None:
        self.build = Rebuild(kernel)
        self._uniformity = analyse_block_uniformity(kernel)
        self._constants = constants_of(kernel)

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> None:
        meets = op.name == "for" and meeting_of(*op.regions)
        if not meets or self._uniformity.decides(op):
            self.build.copy(op, self._one)
            return
        build = self.build
        build.span = op.span
        counter = Counter.of(build, op, self._constants)
        inits = (*counter.init, *build.get_all(carried_inits(op)))
        types = tuple(v.type for v in inits)
        condition = tuple(Value(t) for t in types)
        build.open()
        zero = build.const(u64, 0)
        build.emit("yield", (build.op("icmp", condition[1], zero, pred="ne"),))
        test = build.close(condition)
        args = tuple(Value(t) for t in types)
        build.give_name(args[1], "left")
        build.open()
        build.put(op.regions[0].args[0], args[0])
        build.put_all(carried_args(op)[0], args[2:])
        *body, end = op.regions[0].ops
        build.visit_all(body, self._one)
        build.span = op.span
        after = counter.advance(build, args[0], args[1])
        build.emit("yield", (*after, *build.get_all(end.operands)))
        found = build.emit("while", inits, types, (test, build.close(args)))
        build.put_all(op.results, found[2:])


class _Agree:
    """Puts votes before branches and into loops."""

    def __init__(self, kernel: Kernel) -> None:
        self.build = Rebuild(kernel)
        self._uniformity: BlockUniformity = analyse_block_uniformity(kernel)
        known = [op.attrs.get("id", 0) for op in walk(kernel.body)]
        self._next = 1 + max([n for n in known if isinstance(n, int)], default=0)

    def run(self) -> Kernel:
        return self.build.rebuilt(self._one)

    def _one(self, op: Op) -> None:
        together = op.name in ("if", "while") and meeting_of(*op.regions) == "block"
        if not together or self._uniformity.decides(op):
            self.build.copy(op, self._one)
        elif op.name == "if":
            self.build.span = op.span
            agreed = self._vote(self.build.get(op.operands[0]), op)
            regions = tuple(self.build.region(r, self._one) for r in op.regions)
            operands = (agreed,)
            self.build.append(self.build.remade(op, operands, regions))
        else:
            self._while(op)

    def _vote(self, condition: Value, op: Op) -> Value:
        """What all threads of the block say, or a fault of all of them."""
        build = self.build
        some, every = (
            build.op("vote", condition, mode=mode, scope="block", id=self._number())
            for mode in ("any", "all")
        )
        parted = build.op("ixor", some, every)
        whole = build.op("ixor", parted, build.const(b1, True))
        attrs: dict[str, Attr] = {"message": "", "kind": "divergence"}
        build.emit("assert", (whole,), (), (), **attrs, guard=True, id=self._number())
        return some

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _while(self, op: Op) -> None:
        """A loop on a flag that says what the block voted at the head of the body."""
        build = self.build
        build.span = op.span
        types = (b1, *(v.type for v in op.results))
        test = tuple(Value(t) for t in types)
        inits = (build.const(b1, True), *build.get_all(op.operands))
        build.open()
        build.emit("yield", test[:1])
        condition = build.close(test)
        args = tuple(Value(t) for t in types)
        build.give_name(args[0], "going")
        build.open()
        build.put_all(op.regions[0].args, args[1:])
        build.put_all(op.regions[1].args, args[1:])
        *asked, answer = op.regions[0].ops
        build.visit_all(asked, self._one)
        build.span = op.span
        agreed = self._vote(build.get(answer.operands[0]), op)
        build.open()
        *body, end = op.regions[1].ops
        build.visit_all(body, self._one)
        build.emit("yield", (build.const(b1, True), *build.get_all(end.operands)))
        then = build.close()
        build.open()
        build.emit("yield", (build.const(b1, False), *args[1:]))
        given = build.emit("if", (agreed,), types, (then, build.close()))
        build.emit("yield", given)
        found = build.emit("while", inits, types, (condition, build.close(args)))
        build.put_all(op.results, found[1:])
