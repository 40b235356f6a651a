"""The instruction stream of one LLVM function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heald.codegen.spelling import intrinsic_suffix, scalar_type, splat
from heald.types import Scalar, f32

METADATA = (
    '!0 = !{!"branch_weights", i32 2000, i32 1}',
    "!1 = !{}",
)
"""Nodes that every module has; debug metadata is numbered after them."""
_LIKELY = ", !prof !0"
UNROLL = "llvm.loop.unroll"
"""How metadata begin that say how often a loop is unrolled."""
INVARIANT = ", !invariant.load !1"
QUOTIENT = "heald_quotient"
"""Divides on GPUs; see ``helpers``."""


_DIVIDE, _ONE = "div.full.f32", splat(f32, 1.0, 1)


@dataclass(slots=True)
class Join:
    """A block that several places jump to, each with a value for every phi."""

    label: str
    edges: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)


class Writer:
    """Appends instructions to the current block; implements ``ops.Emit`` at its ``width``.

    ``place`` is appended to every instruction: the debug location of the op at hand.  ``gpu`` says
    that the target is one.
    """

    def __init__(self, width: int = 1) -> None:
        self.width = width
        self.gpu = False
        self.lines: list[str] = []
        self.block = ""
        self.place = ""
        self._count = 0
        self._roots: dict[str, str] = {}

    # -- ops.Emit ----------------------------------------------------------------------------------

    def ins(self, text: str) -> str:
        """Append an instruction that yields a value; gives the name of the value."""
        name = self.reserve()
        self.lines.append(f"  {name} = {text}{self.place}")
        return name

    def type(self, t: Scalar) -> str:
        """LLVM type of ``t`` at the current width."""
        return scalar_type(t, self.width)

    def splat(self, t: Scalar, value: bool | int | float) -> str:
        """A constant of ``t`` at the current width."""
        return splat(t, value, self.width)

    def suffix(self, t: Scalar) -> str:
        """Overload suffix of intrinsics at the current width."""
        return intrinsic_suffix(t, self.width)

    def divide(self, how: str, t: Scalar, lhs: str, rhs: str) -> str:
        """``sdiv``, ``srem``, ``udiv`` or ``urem`` of operands for which it is defined."""
        return self.ins(f"{how} {self.type(t)} {lhs}, {rhs}")

    def quotient(self, lhs: str, rhs: str) -> str:
        """The quotient of two u64, of which the second is not 0.

        On GPUs without the call that 64-bit division is there: NVIDIA's linker keeps nothing in
        uniform registers in a kernel that has one, and loads what each access of memory needs anew.
        """
        if self.gpu and not rhs.isdigit():
            return self.ins(f"call i64 @{QUOTIENT}(i64 {lhs}, i64 {rhs})")
        return self.ins(f"udiv i64 {lhs}, {rhs}")

    def remainder(self, lhs: str, rhs: str) -> str:
        """What :meth:`quotient` leaves."""
        if not self.gpu or rhs.isdigit():
            return self.ins(f"urem i64 {lhs}, {rhs}")
        whole = self.ins(f"mul i64 {self.quotient(lhs, rhs)}, {rhs}")
        return self.ins(f"sub i64 {lhs}, {whole}")

    def approximate(self, instruction: str, value: str, *operands: str) -> str:
        """An instruction of PTX on float32 operands, or ``value`` where the target is no GPU."""
        if not self.gpu:
            return value
        if instruction == _DIVIDE and self.width == 1 and operands[0] == _ONE:
            root = self._roots.get(operands[1])  # one by a root has an instruction of its own
            if root is not None:
                return self.approximate("rsqrt.approx.f32", value, root)
        wide = scalar_type(f32, self.width)
        found = "poison"
        for lane in range(self.width):
            parts = list(operands)
            if self.width > 1:
                parts = [self.ins(f"extractelement {wide} {x}, i32 {lane}") for x in operands]
            places = ", ".join(f"${k}" for k in range(1 + len(parts)))
            taken = ", ".join(f"float {x}" for x in parts)
            constraints = ",".join(["=f", *("f" for _ in parts)])
            made = self.ins(f'call float asm "{instruction} {places};", "{constraints}"({taken})')
            if self.width == 1:
                if instruction == "sqrt.approx.f32":
                    self._roots[made] = parts[0]
                return made
            found = self.ins(f"insertelement {wide} {found}, float {made}, i32 {lane}")
        return found

    # -- instructions and blocks -------------------------------------------------------------------

    def do(self, text: str) -> None:
        """Append an instruction without a value."""
        self.lines.append(f"  {text}{self.place}")

    def reserve(self) -> str:
        """A name that a later instruction will define."""
        self._count += 1
        return f"%v{self._count}"

    def label(self, stem: str) -> str:
        """A fresh block label."""
        self._count += 1
        return f"{stem}{self._count}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, condition: str, then: str, other: str, *, likely: bool = False) -> None:
        """End the block by a branch on an i1; ``likely`` says that it is nearly always true."""
        weights = _LIKELY if likely else ""
        self.do(f"br i1 {condition}, label %{then}, label %{other}{weights}")

    # -- joins -------------------------------------------------------------------------------------

    def join(self, stem: str) -> Join:
        """A join that nobody jumps to yet."""
        return Join(self.label(stem))

    def jump(self, join: Join, values: Sequence[str] = ()) -> None:
        """End the block by a jump to ``join``."""
        self.enter(join, values)
        self.do(f"br label %{join.label}")

    def enter(self, join: Join, values: Sequence[str] = ()) -> None:
        """Note that the branch which ends this block may go to ``join``."""
        join.edges.append((self.block, tuple(values)))

    def land(self, join: Join, types: Sequence[str] = ()) -> tuple[str, ...] | None:
        """Begin the block of ``join`` and give its values, or None when nobody jumps there."""
        if not join.edges:
            return None
        self.start(join.label)
        if len(join.edges) == 1:
            return join.edges[0][1]
        columns = zip(*(values for _, values in join.edges), strict=True)
        blocks = [block for block, _ in join.edges]
        return tuple(
            self.ins(phi(t, list(zip(blocks, column, strict=True))))
            for t, column in zip(types, columns, strict=True)
        )

    # -- loops -------------------------------------------------------------------------------------

    def loop_head(self, stem: str, count: int) -> tuple[str, int, tuple[str, ...]]:
        """Begin a loop header with ``count`` phis whose back edges are not known yet.

        Gives its label, the mark that :meth:`close_head` takes, and the names of the phis.
        """
        label = self.label(stem)
        self.do(f"br label %{label}")
        self.start(label)
        self.lines.append("")
        return label, len(self.lines) - 1, tuple(self.reserve() for _ in range(count))

    def close_head(
        self,
        mark: int,
        names: Sequence[str],
        types: Sequence[str],
        edges: Sequence[tuple[str, Sequence[str]]],
    ) -> None:
        """Write the phis of a header: ``edges`` are all ways into it with a value for every phi."""
        rows = (
            f"  {name} = {phi(t, [(block, values[n]) for block, values in edges])}{self.place}"
            for n, (name, t) in enumerate(zip(names, types, strict=True))
        )
        self.lines[mark] = "\n".join(rows)


def phi(t: str, ways: Sequence[tuple[str, str]]) -> str:
    """The text of a phi: for each predecessor block its value."""
    return f"phi {t} " + ", ".join(f"[ {value}, %{block} ]" for block, value in ways)
