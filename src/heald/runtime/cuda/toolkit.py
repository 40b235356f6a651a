"""Where programs and libraries of NVIDIA's CUDA toolkit are installed."""

from __future__ import annotations

import importlib.util
import os
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
        yield from sorted(Path(folder).glob(f"*/{of_packages}"), reverse=True)
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    yield from sorted(Path(home).glob(pattern), reverse=True)
