"""The same work by Heald and by warp-lang: one text of kernels, one sequence of calls.

In one process both work on one stream, so that events of Heald's time either.
"""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import heald
from benchmarks import gpu_kernels
from benchmarks.gpu_timing import DEVICE, MissingError, graph_milliseconds, submission
from benchmarks.timing import Local

Array = npt.NDArray[Any]
CELLS = 64
IMPORT = "import heald as wp\n"


def kernels(library: str) -> dict[str, Any]:
    """The names of :mod:`benchmarks.gpu_kernels`, built with a library."""
    if library == "heald":
        return vars(gpu_kernels)
    text = Path(gpu_kernels.__file__).read_text(encoding="utf-8")
    if text.count(IMPORT) != 1:
        raise ValueError(f"{gpu_kernels.__file__} should have one line {IMPORT!r}")
    file = f"<gpu_kernels of {library}>"
    text = text.replace(IMPORT, f"import {library} as wp\n")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": f"gpu_kernels_{library}"}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


class Side:
    """One of the two libraries on a device.

    Attributes:
        library: its module.
        kernels: what it made of :mod:`benchmarks.gpu_kernels`, by name.
        held: what has to live as long.
    """

    def __init__(self, library: str, device: str | None = None, held: object = None) -> None:
        self.library: Any = importlib.import_module(library)
        self.kernels = kernels(library)
        self.device = device or DEVICE
        self.held = held

    # -- launches ----------------------------------------------------------------------------------

    def small(self) -> list[Any]:
        """Four arrays, after some launches, as later ones take a shorter path."""
        given = [self._array([1.0 + k] * 32, float) for k in range(4)]
        for _ in range(4):
            self._launch("four", 32, given)
        np.testing.assert_array_equal(given[3].numpy(), [7.0] * 32)
        return given

    def submission(self) -> float:
        """Microseconds of a launch of four arrays."""
        kernel, given, launch = self.kernels["four"], self.small(), self.library.launch
        inputs, outputs = given[:3], given[3:]
        return submission(
            lambda: launch(kernel, dim=32, inputs=inputs, outputs=outputs), self.library
        )

    def resubmission(self) -> float:
        """The same of a recorded one."""
        given = {"inputs": self.small(), "device": self.device}
        command = self.library.launch(self.kernels["four"], dim=32, record_cmd=True, **given)
        return submission(command.launch, self.library)

    def graph(self) -> float:
        """Milliseconds of a captured graph of 1000 of them."""
        return graph_milliseconds(self.kernels["four"], self.small(), self.library)

    # -- kernels -----------------------------------------------------------------------------------

    def add(self, count: int) -> Local:
        """``c = a + b``; the result is the last element, 3.75."""
        a, b, c = (
            self.library.full(count, x, dtype=float, device=self.device) for x in (1.5, 2.25, 0.0)
        )
        last = c[count - 1 :]
        return Local(lambda: self._launch("add", count, [a, b, c]), last.numpy)

    def stencil(self, u: Array) -> Local:
        """A step of five points, of which the rim stays zero."""
        given = [self._array(u, float), self._array(np.zeros_like(u), float)]
        return Local(lambda: self._launch("stencil", u.shape, given), given[1].numpy)

    def nbody(self, places: Array, kernel: str | Any = "nbody") -> Local:
        """The pull on each body."""
        vec3, n = self.library.vec3, len(places)
        given = [self._array(places, vec3), self._array(np.zeros_like(places), vec3)]
        return Local(lambda: self._launch(kernel, n, [*given, n]), given[1].numpy)

    def sum(self, numbers: Array, kernel: str | Any) -> Local:
        """Numbers added to one element, by each run once more."""
        kind = int if numbers.dtype == np.int32 else float
        given = [self._array(numbers, kind), self._array(np.zeros_like(numbers[:1]), kind)]
        return Local(lambda: self._launch(kernel, len(numbers), given), given[1].numpy)

    def neighbours(self, places: Array, radius: float) -> tuple[Local, Local]:
        """A hash grid built, and that with the densities behind it."""
        library, n = self.library, len(places)
        x = self._array(places, library.vec3)
        out = self._array(np.zeros(n, np.float32), float)
        grid = library.HashGrid(CELLS, CELLS, CELLS, device=self.device)

        def build() -> None:
            grid.build(x, radius)

        def build_and_sum() -> None:
            grid.build(x, radius)
            self._launch("density", n, [grid.id, x, radius, 1.0 / radius**6, out])

        return Local(build, out.numpy), Local(build_and_sum, out.numpy)

    def _array(self, data: npt.ArrayLike, kind: Any) -> Any:
        return self.library.array(data, dtype=kind, device=self.device)

    def _launch(self, kernel: str | Any, dim: Any, inputs: list[Any]) -> None:
        made = self.kernels[kernel] if isinstance(kernel, str) else kernel
        self.library.launch(made, dim=dim, inputs=inputs, device=self.device)


def warp_here() -> Any:
    """The module of warp-lang.

    Raises:
        MissingError: it is not installed.
    """
    if importlib.util.find_spec("warp") is None:
        raise MissingError("warp-lang is not installed")
    return importlib.import_module("warp")


def warp_side() -> Side:
    """warp-lang, on the stream that Heald uses now, with an empty kernel cache.

    Raises:
        MissingError: it is not installed.
    """
    warp, folder = warp_here(), tempfile.TemporaryDirectory(prefix="warp-cache-")
    warp.config.log_level = warp.LOG_WARNING
    warp.config.enable_backward = False
    warp.config.kernel_cache_dir = folder.name
    warp.init()
    stream = heald.get_stream(DEVICE)
    warp.set_stream(warp.Stream(DEVICE, cuda_stream=stream.cuda_stream), DEVICE, sync=True)
    return Side("warp", held=(folder, stream))
