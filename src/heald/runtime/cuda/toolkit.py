"""Where programs and libraries of NVIDIA's CUDA toolkit are installed."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path


def files(pattern: str, *, of_packages: str) -> Iterator[Path]:
    """Those of NVIDIA's Python packages, the newest first, and then those of a toolkit.

    Args:
        pattern: in the folder of a toolkit, as ``bin/ptxas``.
        of_packages: the same in the folder of a package, as ``lib/libnvJitLink.so.*``.
    """
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from _newest_first(Path(folder), f"*/{of_packages}")
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    yield from _newest_first(Path(home), pattern)


def _newest_first(folder: Path, pattern: str) -> list[Path]:
    """By the numbers in their names: ``cu13`` is newer than ``cuda_nvcc``, the name before."""

    def version(path: Path) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", str(path.relative_to(folder)))]

    return sorted(folder.glob(pattern), key=version, reverse=True)
