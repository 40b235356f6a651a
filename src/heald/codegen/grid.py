"""The entry of a GPU kernel: which threads of a launch one thread of the grid runs.

Thread (b, t) of the grid has the number b * block + t.  As a rule it runs the thread of the launch
with that number.  A kernel that ``coarsen`` has given lanes can do with a smaller grid: where that
has fewer threads than the launch, each warp takes ``width * spacing`` neighbouring threads of a row
(``artifact.Lanes``), every one of its threads ``width`` of them.

Numbers are 32 bits wide wherever they fit, and no product of extents is formed that need not be.

The driver may start a grid while the one before it ends ("Programmatic Dependent Launch", CUDA C++
Programming Guide).  So every thread, whether it runs one of the launch or not, waits for that one
between finding its place and its first access of memory: a grid that is done was after all before
it.  Only then may the next one start, which so meets no grid but this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heald.artifact import Lanes, abi
from heald.codegen.body import HEADER, THREAD, ParameterLeaf
from heald.codegen.ranges import BODY, DIMS, body_arguments, unpack, unread_extent
from heald.codegen.threads import coordinate, launch_extent
from heald.codegen.writer import Writer, phi
from heald.ir import Kernel
from heald.passes.facts import tid_types
from heald.types import i32

LANES_BODY = "heald_lanes"
_WAIT = (
    'call void asm sideeffect "griddepcontrol.wait; griddepcontrol.launch_dependents;", '
    '"~{memory}"() convergent'
)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to the block that runs threads one by one.

    ``place`` are the thread's coordinates, ``left`` says how many threads there are to run.
    """

    block: str
    thread: str
    place: Sequence[str]
    left: str = "1"


def emit_entry(
    kernel: Kernel,
    rank: int,
    used: Sequence[ParameterLeaf],
    call_place: str,
    lanes: Lanes | None,
    *,
    waits: bool,
) -> str:
    """The instructions of the entry."""
    return _Entry(kernel, rank, used, call_place, lanes, waits).text()


class _Entry:
    def __init__(
        self,
        kernel: Kernel,
        rank: int,
        used: Sequence[ParameterLeaf],
        call_place: str,
        lanes: Lanes | None,
        waits: bool,
    ) -> None:
        self.w = Writer()
        self.w.gpu = True
        self.kernel, self.rank, self.used = kernel, rank, used
        self.call_place, self.lanes, self.waits = call_place, lanes, waits
        self.types = tid_types(kernel)
        self.is_narrow = self.types <= {i32}
        self.kind = "i32" if self.is_narrow else "i64"
        self.ways: list[_Way] = []
        self.extents: list[str] = []
        self.words: list[str] = []

    def text(self) -> str:
        w = self.w
        w.start("entry")
        w.lines.append(f"  %args = getelementptr i8, ptr {HEADER}, i64 {abi.HEADER_SIZE}")
        unpack(w, self.kernel, self.used, aligned=True)
        self.words = [self._register(name) for name in ("ctaid", "ntid", "tid")]
        if self.rank:
            self._choose()
        else:
            w.do("br label %general")
        w.start("general")
        self._general()
        w.start("thread.run")
        self._run()
        w.start("exit")
        w.do("ret void")
        return "\n".join(w.lines)

    def _register(self, name: str) -> str:
        return self.w.ins(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()")

    # -- the usual launch --------------------------------------------------------------------------

    def _choose(self) -> None:
        """Launches without extents that the kernel does not read, of few enough threads."""
        w, rank = self.w, self.rank
        unread = [launch_extent(axis) for axis in range(rank, DIMS)]
        tests = []
        if unread:
            joined = unread[0]
            for extent in unread[1:]:
                joined = w.ins(f"or i64 {joined}, {extent}")
            tests.append(w.ins(f"icmp eq i64 {joined}, 1"))
        total = launch_extent(0)
        for axis in range(1, rank):
            total = w.ins(f"mul i64 {total}, {launch_extent(axis)}")
        if self.is_narrow and (rank > 1 or not self.types):
            tests.append(w.ins(f"icmp ule i64 {total}, {abi.MAX_NARROW}"))
        usual = "true"
        for n, test in enumerate(tests):
            usual = test if n == 0 else w.ins(f"and i1 {usual}, {test}")
        w.branch(usual, "usual", "general", likely=True)
        w.start("usual")
        self.extents = [self._fitted(launch_extent(axis)) for axis in range(rank)]
        number = self._number(self.kind)
        if self.lanes is None:
            self._one_each(number, total)
            return
        blocks = w.ins(f"zext i32 {self._register('nctaid')} to i64")
        launched = w.ins(f"mul nuw nsw i64 {blocks}, {w.ins(f'zext i32 {self.words[1]} to i64')}")
        w.branch(w.ins(f"icmp uge i64 {launched}, {total}"), "each", "rows", likely=False)
        w.start("each")
        self._one_each(number, total)
        w.start("rows")
        self._rows(number, self.lanes)

    def _number(self, kind: str) -> str:
        """The number of this thread of the grid."""
        w, words = self.w, self.words
        if kind == "i64":
            words = [w.ins(f"zext i32 {word} to i64") for word in words]
        before = w.ins(f"mul {kind} {words[0]}, {words[1]}")
        return w.ins(f"add {kind} {before}, {words[2]}")

    def _fitted(self, name: str) -> str:
        return self.w.ins(f"trunc i64 {name} to i32") if self.is_narrow else name

    def _whole(self, name: str) -> str:
        return self.w.ins(f"zext i32 {name} to i64") if self.is_narrow else name

    def _one_each(self, number: str, total: str) -> None:
        w, thread = self.w, self._whole(number)
        place = self._divided(number, self.extents)
        if self.rank == 1:
            there = w.ins(f"icmp ult {self.kind} {number}, {self.extents[0]}")
        else:
            there = w.ins(f"icmp ult i64 {thread}, {total}")
        self.ways.append(_Way(w.block, thread, place))
        self._enter(there, "thread.run")

    def _divided(self, number: str, extents: Sequence[str]) -> list[str]:
        """Coordinates of a number that counts row-major over extents."""
        w, place = self.w, []
        for extent in reversed(extents[1:]):
            quotient = (
                w.ins(f"udiv i32 {number}, {extent}")
                if self.is_narrow
                else w.quotient(number, extent)
            )
            whole = w.ins(f"mul {self.kind} {quotient}, {extent}")
            place.append(w.ins(f"sub {self.kind} {number}, {whole}"))
            number = quotient
        return [number, *reversed(place)]

    # -- several threads of the launch -------------------------------------------------------------

    def _rows(self, number: str, lanes: Lanes) -> None:
        """Every warp takes a stretch of a row, which at its end is shorter."""
        w, last = self.w, self.extents[-1]
        warp = w.ins(f"udiv i32 {number}, {lanes.spacing}")
        lane = w.ins(f"urem i32 {number}, {lanes.spacing}")
        padded = w.ins(f"add i32 {last}, {lanes.stretch - 1}")
        stretches = w.ins(f"udiv i32 {padded}, {lanes.stretch}")
        outer: list[str] = []
        if self.rank == 1:
            there, within, before = w.ins(f"icmp ult i32 {warp}, {stretches}"), warp, "0"
        else:
            row = w.ins(f"udiv i32 {warp}, {stretches}")
            within = w.ins(f"sub i32 {warp}, {w.ins(f'mul i32 {row}, {stretches}')}")
            rows = self.extents[0]
            for extent in self.extents[1:-1]:
                rows = w.ins(f"mul i32 {rows}, {extent}")
            there = w.ins(f"icmp ult i32 {row}, {rows}")
            before = w.ins(f"mul i32 {row}, {last}")
            outer = self._divided(row, self.extents[:-1])
        first = w.ins(f"mul i32 {within}, {lanes.stretch}")
        x = w.ins(f"add i32 {first}, {lane}")
        thread = self._whole(w.ins(f"add i32 {before}, {x}"))
        starts = w.ins(f"icmp ult i32 {x}, {last}")
        self._enter(w.ins(f"and i1 {there}, {starts}"), "row.in")
        w.start("row.in")
        ends = w.ins(f"add i32 {x}, {(lanes.width - 1) * lanes.spacing}")
        w.branch(w.ins(f"icmp ult i32 {ends}, {last}"), "lanes.run", "row.rest", likely=True)
        w.start("lanes.run")
        place = [*outer, x]
        given = body_arguments(self.rank, self.used, [thread, *map(self._whole, place)])
        done = w.ins(f"call i1 @{LANES_BODY}({given}){self.call_place}")
        w.branch(done, "exit", "row.rest", likely=True)
        w.start("row.rest")
        self.ways.append(_Way("row.rest", thread, place, str(lanes.width)))
        w.do("br label %thread.run")

    # -- any launch --------------------------------------------------------------------------------

    def _general(self) -> None:
        """Divide by the extents behind each axis; those that nobody reads are 1 as a rule."""
        w, rank = self.w, self.rank
        thread = self._number("i64")
        rest = unread_extent(w, rank)
        total = rest
        for axis in range(rank):
            total = w.ins(f"mul i64 {total}, {launch_extent(axis)}")
        self._enter(w.ins(f"icmp ult i64 {thread}, {total}"), "thread.find")
        w.start("thread.find")
        number = w.quotient(thread, rest) if rank else thread
        place: list[str] = []
        for axis in range(rank - 1, 0, -1):
            above = w.quotient(number, launch_extent(axis))
            whole = w.ins(f"mul i64 {above}, {launch_extent(axis)}")
            place.append(self._fitted(w.ins(f"sub i64 {number}, {whole}")))
            number = above
        if rank:
            place.append(self._fitted(number))
        self.ways.append(_Way(w.block, thread, place[::-1]))
        w.do("br label %thread.run")

    def _enter(self, there: str, block: str) -> None:
        """Go on where there is a thread of the launch to run; memory is accessed behind this."""
        if self.waits:
            self.w.do(_WAIT)
        self.w.branch(there, block, "exit")

    # -- one by one --------------------------------------------------------------------------------

    def _run(self) -> None:
        w, lanes = self.w, self.lanes
        back = [] if lanes is None else ["%thread.next.number"]
        w.lines.append(f"  {THREAD} = {self._joined('i64', [x.thread for x in self.ways], back)}")
        names = [f"{coordinate(axis)}.short" for axis in range(self.rank)]
        for axis, name in enumerate(names):
            moves = axis == self.rank - 1
            again = [f"{name}.next" if moves else name] * len(back)
            row = self._joined(self.kind, [way.place[axis] for way in self.ways], again)
            w.lines.append(f"  {name} = {row}")
        if lanes is not None:
            count = self._joined("i32", [way.left for way in self.ways], ["%rest"])
            w.lines.append(f"  %left = {count}")
        for axis, name in enumerate(names):
            how = f"zext i32 {name} to i64" if self.is_narrow else f"add i64 {name}, 0"
            w.lines.append(f"  {coordinate(axis)} = {how}")
        w.do(f"call void @{BODY}({body_arguments(self.rank, self.used)}){self.call_place}")
        if lanes is None:
            w.do("br label %exit")
            return
        w.do("br label %thread.next")
        w.start("thread.next")
        last = names[-1]
        w.lines.append("  %rest = sub i32 %left, 1")
        w.lines.append(f"  %thread.next.number = add i64 {THREAD}, {lanes.spacing}")
        w.lines.append(f"  {last}.next = add i32 {last}, {lanes.spacing}")
        more = w.ins("icmp ne i32 %rest, 0")
        inside = w.ins(f"icmp ult i32 {last}.next, {self._last_extent()}")
        w.branch(w.ins(f"and i1 {more}, {inside}"), "thread.run", "exit")

    def _last_extent(self) -> str:
        return self.w.ins(f"trunc i64 {launch_extent(self.rank - 1)} to i32")

    def _joined(self, kind: str, values: Sequence[str], again: Sequence[str]) -> str:
        """A phi over all ways, and the way back where there is one."""
        ways = [(way.block, value) for way, value in zip(self.ways, values, strict=True)]
        back = [("thread.next", value) for value in again]
        return phi(kind, [*ways, *back])
