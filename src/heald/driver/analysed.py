"""A kernel after the front pipeline, with what the analysis says of it.

Launches need its rank and its launch condition only, so the WIR itself is packed, or still on disk,
most of the time: unpacked it is most of what a live kernel costs.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

import heald.driver.compiler as compiler
from heald.artifact import LaunchCondition
from heald.artifact.serialise import from_plain, to_plain

if TYPE_CHECKING:
    from heald.ir import Kernel
    from heald.passes import Verdict

_HEAD = struct.Struct("<HHIII")
_FORMAT = 3


class Analysed:
    """See the module.  Not changed by anything; ``kernel`` and ``verdicts`` come when asked for.

    Attributes:
        rank: launch dimensions that the kernel reads.
        condition: what must hold at a launch for the conditional verdicts to count.
        layout: what must hold for code that takes arrays to be dense.
        apart: what must hold for code that takes arrays not to overlap.
    """

    def __init__(
        self,
        rank: int,
        condition: LaunchCondition,
        layout: LaunchCondition,
        apart: LaunchCondition,
        packed: bytes | None,
    ) -> None:
        self.rank = rank
        self.condition = condition
        self.layout = layout
        self.apart = apart
        self._packed = packed
        self._kernel: Kernel | None = None
        self._verdicts: Mapping[int, Verdict] | None = None

    @classmethod
    def of(cls, wir: Kernel) -> Analysed:
        """Run the front pipeline and the analysis on what the front end made.

        Raises:
            CompileError: some threads of every block miss a barrier (H0408).
        """
        front = compiler.front_of(wir)
        made = cls(front.kernel.rank, front.condition, front.layout, front.apart, None)
        made._kernel, made._verdicts = front.kernel, front.verdicts
        return made

    @property
    def kernel(self) -> Kernel:
        """The WIR."""
        kernel = self._kernel
        if kernel is None:
            assert self._packed is not None
            kernel = self._kernel = compiler.unpacked(self._packed)
        return kernel

    @property
    def verdicts(self) -> Mapping[int, Verdict]:
        """What is proved of each obligation, by op id."""
        verdicts = self._verdicts
        if verdicts is None:
            verdicts = self._verdicts = compiler.verdicts_of(self.kernel)
        return verdicts

    def pack(self) -> None:
        """Keep the WIR in its file form until it is asked for again."""
        if self._packed is None and self._kernel is not None:
            self._packed = compiler.packed(self._kernel)
        self._kernel = self._verdicts = None

    def to_bytes(self) -> bytes:
        """The whole as bytes."""
        if self._packed is None:
            self._packed = compiler.packed(self.kernel)
        conditions = self.condition, self.layout, self.apart
        texts = [json.dumps(to_plain(c)).encode() for c in conditions]
        return _HEAD.pack(_FORMAT, self.rank, *map(len, texts)) + b"".join(texts) + self._packed

    @classmethod
    def from_bytes(cls, data: bytes) -> Analysed:
        """What :meth:`to_bytes` wrote; the WIR is not looked at yet.

        Raises:
            ValueError: these bytes are nothing of the kind.
        """
        try:
            form, rank, *sizes = _HEAD.unpack_from(data)
            if form != _FORMAT:
                raise ValueError("another format")
            rest, conditions = data[_HEAD.size :], []
            for size in sizes:
                conditions.append(from_plain(LaunchCondition, json.loads(rest[:size])))
                rest = rest[size:]
            bounds, unit, apart = conditions
            return cls(rank, bounds, unit, apart, rest)
        except (struct.error, TypeError, RecursionError) as error:
            raise ValueError(f"no analysed kernel: {error}") from error
