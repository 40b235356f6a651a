"""Witnesses: launches that go wrong, complete enough to be stored and run again anywhere."""

from __future__ import annotations

import io
import json
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from heald.artifact import Symbol
from heald.artifact.serialise import from_plain, to_plain
from heald.diagnostics import HealdError, LaunchError
from heald.driver.files import write_whole
from heald.driver.replay import Case, Misbehaviour, freeze, replay
from heald.ir import Kernel, dump_kernels, load_kernels
from heald.ops import TABLE
from heald.proof import Suspect
from heald.proof.contracts import Promises

VERSION = 4
_MEMBERS = frozenset({"kernel", "case"})


@dataclass(frozen=True, slots=True)
class Witness:
    """A launch of a kernel that goes wrong, and how.

    Attributes:
        kernel: the WIR, with spans.
        case: the launch.
        seen: what goes wrong.
    """

    kernel: Kernel
    case: Case
    seen: Misbehaviour

    @classmethod
    def of(cls, kernel: Kernel, case: Case, seen: Misbehaviour) -> Witness:
        """A witness whose memory is written down, so that it does not depend on random numbers."""
        return cls(kernel, freeze(kernel, case), seen)

    @property
    def dims(self) -> tuple[int, ...]:
        """Extents of the launch."""
        return self.case.suspect.dims

    @property
    def threads(self) -> tuple[tuple[int, ...], ...]:
        """The launch indices of the threads that go wrong."""
        return self.seen.threads

    def numbers(self) -> dict[Symbol, int]:
        """Shapes and by-value integers."""
        return dict(self.case.suspect.numbers)

    def replay(self) -> list[Misbehaviour]:
        """Run it again; gives everything that goes wrong.

        Raises:
            HealdError: the interpreter cannot run it.
        """
        return replay(self.kernel, self.case)

    def save(self, path: str | PathLike[str]) -> None:
        """Write an ``.npz`` file for ``heald replay``.

        Raises:
            OSError: the file cannot be written.
        """
        buffer = io.BytesIO()
        content: dict[str, Any] = {
            "kernel": np.frombuffer(dump_kernels([self.kernel], metadata={}), np.uint8),
            "case": np.frombuffer(json.dumps(self._described()).encode(), np.uint8),
        }
        for (parameter, leaf), data in self.case.memory:
            content[f"memory_{parameter}_{leaf}"] = np.frombuffer(data, np.uint8)
        np.savez_compressed(buffer, **content)
        write_whole(path, buffer.getvalue())

    def _described(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "suspect": to_plain(self.case.suspect),
            "floats": to_plain(self.case.floats),
            "seen": to_plain(self.seen),
            "promises": to_plain(self.case.promises),
        }


def load_witness(path: str | PathLike[str]) -> Witness:
    """Read what :meth:`Witness.save` wrote.

    Raises:
        LaunchError: the file is something else, damaged, or of another version.
        OSError: it cannot be read.
    """
    members = _members(path)
    if not members.keys() >= _MEMBERS:
        raise LaunchError(f"{path} is no witness: it has no kernel")
    try:
        described = json.loads(members.pop("case").tobytes())
        version = described["version"]
        witness = _restored(members, described) if version == VERSION else None
    except _DAMAGE:
        raise LaunchError(f"{path} is no witness: what it says of the launch is damaged") from None
    except HealdError as error:
        raise LaunchError(f"{path} is no witness: {str(error).splitlines()[0]}") from None
    if witness is None:
        raise LaunchError(f"{path} is no witness: it is of version {version}, not {VERSION}")
    return witness


def _restored(members: dict[str, Any], described: Any) -> Witness:
    (kernel,) = load_kernels(members.pop("kernel").tobytes(), TABLE).kernels
    memory = tuple(
        ((int(name.split("_")[1]), int(name.split("_")[2])), data.tobytes())
        for name, data in members.items()
    )
    case = Case(
        from_plain(Suspect, described["suspect"]),
        0,
        memory,
        from_plain(tuple[tuple[int, int, float], ...], described["floats"]),
        from_plain(Promises, described["promises"]),
    )
    return Witness(kernel, case, from_plain(Misbehaviour, described["seen"]))


_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(RecursionError, SyntaxError, TypeError, ValueError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What numpy, zipfile and json say of files that are something else, or damaged."""


def _members(path: str | PathLike[str]) -> dict[str, Any]:
    """The arrays of an .npz file.

    Raises:
        LaunchError: it is something else, or damaged.
        OSError: it cannot be read.
    """
    try:
        with open(path, "rb") as data, np.load(data, allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
    except _DAMAGE:
        raise LaunchError(f"{path} is no witness: no .npz file, or a damaged one") from None
