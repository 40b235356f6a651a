"""Artifacts of kernels to addresses in this process."""

from __future__ import annotations

from dataclasses import dataclass

from heald.artifact import Artifact
from heald.codegen.jit import load_object
from heald.codegen.objects import undefined_symbols
from heald.codegen.support import addresses
from heald.diagnostics import InternalError


@dataclass(frozen=True, slots=True)
class LoadedCode:
    """A function in this process.

    Attributes:
        address: of the entry.
        keepalive: as long as it is referenced, the code stays; dropping it while the address is in
            use (also by a thread or a recorded launch) is a crash.
    """

    address: int
    keepalive: object


def load(artifact: Artifact) -> LoadedCode:
    """Load the code of a CPU artifact.

    Raises:
        InternalError: the artifact is not for a CPU, or its code refers to what this process does
            not have.
    """
    if artifact.target != "cpu":
        raise InternalError(f"code for {artifact.target} cannot be loaded as CPU code")
    imports = addresses(undefined_symbols(artifact.code))
    (address,), keepalive = load_object(artifact.code, (artifact.entry,), imports)
    return LoadedCode(address, keepalive)
