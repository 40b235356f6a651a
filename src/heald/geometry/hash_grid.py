"""Hash grids: neighbour search among points of one radius."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np

import heald as wp
from heald.api import resources
from heald.api.scalars import describe
from heald.diagnostics import Diagnostic, LaunchError
from heald.library.hash_grid import KIND, cell_of
from heald.types import describe_type
from heald.utils import blocks

_MAX_CELLS = 1 << 28


@wp.func
def number_of_cell(p: wp.vec3, dims: wp.vec3i, width: wp.vec3, periodic: int):
    """The cell that a point falls into, numbered row-major."""
    x = cell_of(p.x, width.x, dims.x, periodic)
    y = cell_of(p.y, width.y, dims.y, periodic)
    z = cell_of(p.z, width.z, dims.z, periodic)
    return (x * dims.y + y) * dims.z + z


@wp.kernel
def _number_cells(
    points: wp.array(dtype=wp.vec3),
    dims: wp.vec3i,
    width: wp.vec3,
    periodic: int,
    cells: wp.array(dtype=wp.uint32),
) -> None:
    """The cell of each point."""
    i = wp.tid()
    cells[i] = wp.uint32(number_of_cell(points[i], dims, width, periodic))


@wp.kernel
def _sort_by_cell(
    cells: wp.array(dtype=wp.uint32),
    starts: wp.array(dtype=int),
    ids: wp.array(dtype=int),
) -> None:
    """A counting sort by one thread: the points cell by cell, ascending, and where cells start.

    ``starts`` comes in as zeros, two more than there are cells.  The first pass counts each cell
    two places further; added up, the place behind it is where the next point of the cell goes.
    Every test holds: they are what the proof needs, and take the place of guards.
    """
    if wp.tid() == 0:
        cell_count = starts.shape[0] - 2
        for i in range(cells.shape[0]):
            c = int(cells[i])
            if 0 <= c < cell_count:
                starts[c + 2] = starts[c + 2] + 1
        total = 0
        for k in range(starts.shape[0]):
            total += starts[k]
            starts[k] = total
        for i in range(cells.shape[0]):
            c = int(cells[i])
            if 0 <= c < cell_count:
                to = starts[c + 1]
                if 0 <= to < ids.shape[0]:
                    ids[to] = i
                    starts[c + 1] = to + 1


@wp.kernel
def _count_points(
    points: wp.array(dtype=wp.vec3),
    dims: wp.vec3i,
    width: wp.vec3,
    periodic: int,
    counts: wp.array(dtype=int),
    cells: wp.array(dtype=int),
    places: wp.array(dtype=int),
) -> None:
    """The cell of each point, how many points each has, and a place of its own within it."""
    i = wp.tid()
    c = number_of_cell(points[i], dims, width, periodic)
    cells[i] = c
    if 0 <= c < counts.shape[0]:
        places[i] = wp.atomic_add(counts, c, 1)


@wp.kernel
def _gather_cells(
    cells: wp.array(dtype=int),
    places: wp.array(dtype=int),
    starts: wp.array(dtype=int),
    counts: wp.array(dtype=int),
    found: wp.array(dtype=int),
) -> None:
    """The points cell by cell, in whatever order they have come; counts are zeros again."""
    i = wp.tid()
    c = cells[i]
    if 0 <= c < counts.shape[0]:
        counts[c] = 0
    if 0 <= c < starts.shape[0]:
        to = wp.int64(starts[c]) + wp.int64(places[i])
        if 0 <= to < found.shape[0]:
            found[to] = i


@wp.kernel
def _order_cells(
    found: wp.array(dtype=int),
    cells: wp.array(dtype=int),
    starts: wp.array(dtype=int),
    ids: wp.array(dtype=int),
) -> None:
    """The points of each cell ascending: each goes behind those of its cell that are less.

    That looks at as many pairs as a query of every point does in one of its cells.
    """
    i = found[wp.tid()]
    if 0 <= i < cells.shape[0]:
        c = cells[i]
        if 0 <= c < starts.shape[0] - 1:
            before = 0
            for k in range(wp.max(starts[c], 0), wp.min(starts[c + 1], found.shape[0])):
                if found[k] < i:
                    before += 1
            to = wp.int64(starts[c]) + wp.int64(before)
            if 0 <= to < ids.shape[0]:
                ids[to] = i


class _Room:
    """Memory of a GPU that builds of as many points share.

    Attributes:
        is_clean: will the next build find zeros as counts?  A build leaves zeros behind, so only
            the first one needs to make them, and the one after another that failed on the way.
    """

    def __init__(self, count: int, cells: int, device: Any) -> None:
        self.count = count
        self.is_clean = False
        self.cells, self.places, self.found, self.ids = (
            wp.empty(count, dtype=wp.int32, device=device) for _ in range(4)
        )
        self.counts, self.starts = (
            wp.empty(cells + 1, dtype=wp.int32, device=device) for _ in range(2)
        )
        self.scanner = blocks.Scanner(cells + 1, wp.int32, device)


class HashGrid:
    """Points sorted into the cells of a grid that repeats in every direction.

    >>> grid = wp.HashGrid(32, 32, 32)
    >>> grid.build(wp.array([[0.0, 0.0, 0.0], [0.4, 0.0, 0.0]], dtype=wp.vec3), radius=0.5)
    >>> len(grid)
    2

    Kernels take ``grid.id`` (a ``wp.uint64``) and run ``for j in wp.hash_grid_query(id, point,
    radius)``. The method is the sorted cell list of Green, "Particle simulation using CUDA" (2010),
    section 3.

    Args:
        dim_x: cells on each axis; any point is accepted, since cells repeat.
        dim_y: see ``dim_x``.
        dim_z: see ``dim_x``.
        device: where kernels will query it; the current device by default.
        max_points: most points that :meth:`build` takes; None for no limit.
        periodic: the lengths of a periodic domain.  Cells then divide it exactly, and neighbours
            across its borders are found (their distance is the caller's to compute).

    Raises:
        LaunchError: dims that are not positive integers, too many cells, or a period that is not
            positive and finite (H0711).
    """

    def __init__(
        self,
        dim_x: int,
        dim_y: int,
        dim_z: int,
        device: Any = None,
        *,
        max_points: int | None = None,
        periodic: Sequence[float] | None = None,
    ) -> None:
        self.dims = _checked_dims(dim_x, dim_y, dim_z)
        self.device = wp.get_device(device)
        self.max_points = max_points
        self.periodic = None if periodic is None else _checked_period(periodic)
        self._count = 0
        self._handle: int | None = None
        self._room: _Room | None = None
        self._shape: tuple[list[float], list[Any]] | None = None
        self._shown: tuple[list[float], tuple[wp.array, wp.array], resources.Resource] | None = None

    @property
    def id(self) -> int:
        """The handle that kernels take; it stays the same when the grid is built again.

        Raises:
            LaunchError: the grid was never built (H0714).
        """
        if self._handle is None:
            message = "the hash grid was not built yet, so kernels cannot query it"
            raise LaunchError(
                Diagnostic("H0714", message, hint="call grid.build(points, radius) first")
            )
        return self._handle

    def build(self, points: wp.array, radius: float) -> None:
        """Sort ``points`` into cells of width ``radius`` (of the divided period in a periodic
        grid).

        Queries with other radii work too; they look at more or larger cells.  On a GPU the same
        memory is filled again, so launches in other streams that query or build the grid must have
        ended.
        In a capture the grid is built whenever the graph runs.

        Args:
            points: of shape (n,) and dtype vec3, on the device of the grid.
            radius: positive and finite.

        Raises:
            LaunchError: points or radius do not fit, or more points than ``max_points`` (H0714).
            DeviceError: captured launches see the grid with another radius or number of points
                (H0811).
        """
        if not (isinstance(radius, (int, float, np.number)) and 0.0 < float(radius) < math.inf):
            raise _refused(f"the radius of a hash grid is positive and finite, not {radius!r}")
        width = [float(radius)] * 3
        if self.periodic is not None:
            width = [p / d for p, d in zip(self.periodic, self.dims, strict=True)]
        if not all(0.0 < np.float32(w) < math.inf for w in width):
            raise _refused(f"cells of width {width} cannot be represented in float32")
        self._check(points)
        build = self._build_on_gpu if self.device.is_cuda else self._build_on_host
        build(points, width)

    def _build_on_host(self, points: wp.array, width: Sequence[float]) -> None:
        """By a counting sort; the interpreter, for which that is long, leaves it to numpy."""
        count, cells = len(points), math.prod(self.dims)
        keys, ids = (wp.empty(count, dtype=t, device=self.device) for t in (wp.uint32, wp.int32))
        starts = wp.zeros(cells + 2, dtype=wp.int32, device=self.device)
        inputs = [points, *self._layout(width), keys]
        wp.launch(_number_cells, dim=count, inputs=inputs, device=self.device)
        if self.device.is_sim:
            numbers = keys.numpy()
            ids.numpy()[:] = np.argsort(numbers, kind="stable")
            np.cumsum(np.bincount(numbers, minlength=cells), out=starts.numpy()[1:-1])
        else:
            wp.launch(_sort_by_cell, dim=1, inputs=[keys, starts, ids], device=self.device)
        self._register(width, (starts[:-1], ids))

    def _check(self, points: wp.array) -> None:
        if not isinstance(points, wp.array) or points.ndim != 1 or points.dtype is not wp.vec3:
            given = describe(points)
            if isinstance(points, wp.array):
                given = f"one of {describe_type(points.element_type)} and shape {points.shape}"
            raise _refused(
                f"the points of a hash grid are a 1-D array of wp.vec3, not {given}",
                hint="make it by wp.array(x, dtype=wp.vec3)",
            )
        if points.device != self.device:
            message = f"the points live on '{points.device}', the hash grid on '{self.device}'"
            hint = f"copy them with .to('{self.device}'), or make the grid with device="
            raise LaunchError(Diagnostic("H0704", message, hint=hint))
        count = len(points)
        if self.max_points is not None and count > self.max_points:
            raise LaunchError(
                Diagnostic(
                    "H0714",
                    f"{count} points, but the hash grid was made for at most {self.max_points}",
                    hint="make it with a larger max_points, or without",
                )
            )

    def _build_on_gpu(self, points: wp.array, width: Sequence[float]) -> None:
        """By a counting sort, whose order atomics leave open within a cell, so it is made after."""
        count, cells = len(points), math.prod(self.dims)
        room = self._room
        if room is None or room.count != count:
            self._room = room = _Room(count, cells, self.device)
        counts, starts = room.counts, room.starts
        # What is captured happens later, and nobody knows behind which other builds.
        is_captured = self.device.is_cuda and wp.get_stream(self.device).is_capturing
        if is_captured or not room.is_clean:
            counts.zero_()
        room.is_clean &= is_captured  # an earlier fault may be raised at any of the launches
        inputs = [points, *self._layout(width), counts, room.cells, room.places]
        wp.launch(_count_points, dim=count, inputs=inputs, device=self.device)
        room.scanner.run(counts, starts, inclusive=False)
        inputs = [room.cells, room.places, starts, counts, room.found]
        wp.launch(_gather_cells, dim=count, inputs=inputs, device=self.device)
        inputs = [room.found, room.cells, starts, room.ids]
        room.is_clean |= not is_captured
        wp.launch(_order_cells, dim=count, inputs=inputs, device=self.device)
        self._register(width, (starts, room.ids))

    def _layout(self, width: Sequence[float]) -> list[Any]:
        """What kernels take that find the cell of a point."""
        known = self._shape
        if known is None or known[0] != width:
            layout = [wp.vec3i(*self.dims), wp.vec3(*width), int(self.periodic is not None)]
            self._shape = known = (list(width), layout)
        return known[1]

    def _register(self, width: Sequence[float], arrays: tuple[wp.array, wp.array]) -> None:
        """Show kernels the starts of cells and the points cell by cell."""
        self._count = len(arrays[1])
        shown = self._shown
        if shown is not None and shown[0] == width and all(map(is_, shown[1], arrays)):
            resources.update(self.device, shown[2])
            return
        scalars = [
            *(np.int32(d) for d in self.dims),
            *(np.float32(w) for w in width),
            np.int32(self.periodic is not None),
        ]
        if self._handle is None:
            self._handle = resources.register(self.device, KIND, scalars, arrays)
            weakref.finalize(self, resources.release, self.device, self._handle)
        content = resources.describe(self._handle, scalars, arrays)
        resources.update(self.device, content)
        self._shown = (list(width), arrays, content)

    def __len__(self) -> int:
        """Points in the grid."""
        return self._count

    def __repr__(self) -> str:
        x, y, z = self.dims
        return f"<HashGrid {x}x{y}x{z} with {self._count} points on {self.device}>"


def _checked_dims(*dims: int) -> tuple[int, int, int]:
    for dim in dims:
        if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
            raise _refused(f"the dims of a hash grid are positive integers, not {dims}")
    if math.prod(dims) > _MAX_CELLS:
        raise _refused(f"{math.prod(dims):,} cells are more than the {_MAX_CELLS:,} allowed")
    x, y, z = (int(d) for d in dims)
    return x, y, z


def _checked_period(period: Sequence[float]) -> tuple[float, float, float]:
    lengths = tuple(float(p) for p in period)
    if len(lengths) != 3 or not all(0.0 < p < math.inf for p in lengths):
        raise _refused(f"a period is three positive, finite lengths, not {period}")
    return lengths


def _refused(message: str, hint: str = "") -> LaunchError:
    return LaunchError(Diagnostic("H0711", message, hint=hint))
