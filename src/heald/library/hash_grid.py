"""Neighbour queries on hash grids (host side: ``heald.geometry.hash_grid``).

A grid has ``dim_x * dim_y * dim_z`` cells; space is cut into boxes of the cell width and box (i, j,
k) falls into cell (i mod dim_x, j mod dim_y, k mod dim_z), row-major with z fastest.  ``starts[c]``
is the position of the first point of cell c in ``ids``, which lists the points cell by cell,
ascending within a cell.
"""

from heald.library.arithmetic import floormod, max, min
from heald.library.language import Anything, Vec, float32, int32, int64, m, uint64
from heald.library.registry import builtin, helper
from heald.library.rounding import floor
from heald.types import Array, Struct, i32, u64

KIND = 1
"""Resource kind of hash grids."""

INTS = Array(i32, 1)
HashGridQuery = Struct(
    "HashGridQuery",
    (
        ("id", u64),
        ("dim_x", i32),
        ("dim_y", i32),
        ("dim_z", i32),
        ("base_x", i32),
        ("base_y", i32),
        ("base_z", i32),
        ("count_x", i32),
        ("count_y", i32),
        ("count_z", i32),
        ("x", i32),
        ("y", i32),
        ("wrapped", i32),
        ("next", i32),
        ("end", i32),
    ),
)


@helper
def box_of(x: float32, width: float32) -> int32:
    """The box that a coordinate falls into: floor(x / width), saturated; 0 for NaN."""
    return int32(floor(x / width))


@helper
def folded(x: float32, width: float32, dim: int32, periodic: int32) -> float32:
    """The coordinate brought into [0, period] where the grid is periodic."""
    if periodic != 0:
        period = width * float32(dim)
        return x - floor(x / period) * period
    return x


@helper
def cell_of(x: float32, width: float32, dim: int32, periodic: int32) -> int32:
    """The cell coordinate of a point on one axis."""
    return floormod(box_of(folded(x, width, dim, periodic), width), dim)


@helper
def cells_in_reach(
    x: float32, reach: float32, width: float32, dim: int32, periodic: int32
) -> Anything:
    """First cell and number of cells on one axis whose points can be within ``reach``.

    Rounding is monotonic, so a point at most ``reach`` away is never left out.  In periodic grids
    the folding of coordinates rounds too; there the reach grows by 2^-20 of the period.
    """
    centre = folded(x, width, dim, periodic)
    wide = reach
    if periodic != 0:
        wide = reach + width * float32(dim) * 0.00000095367431640625
    first = box_of(centre - wide, width)
    last = box_of(centre + wide, width)
    count = min(int64(last) - int64(first) + 1, int64(dim))
    return floormod(first, dim), max(int32(count), 0)


@builtin(group="Geometry")
def hash_grid_query(id: uint64, point: Vec(float32, 3), max_dist: float32) -> HashGridQuery:
    """A query for the points of a hash grid near ``point``: ``for j in wp.hash_grid_query(id, p,
    r)``.

    Gives the index of every point in the cells that a ball of radius ``max_dist`` around ``point``
    touches, each at most once, so every point at most ``max_dist`` away is among them; compare the
    distance to leave out the rest.  Cells come in lexicographic order starting at the lowest
    corner, points of a cell ascending: sums over neighbours are reproducible.  A negative or NaN
    ``max_dist`` finds nothing.  In a periodic grid neighbours across the border are found.
    """
    q = HashGridQuery(id=id)
    q.dim_x = m.resource_scalar(id, int32, kind=KIND, slot=0)
    q.dim_y = m.resource_scalar(id, int32, kind=KIND, slot=1)
    q.dim_z = m.resource_scalar(id, int32, kind=KIND, slot=2)
    width_x = m.resource_scalar(id, float32, kind=KIND, slot=3)
    width_y = m.resource_scalar(id, float32, kind=KIND, slot=4)
    width_z = m.resource_scalar(id, float32, kind=KIND, slot=5)
    periodic = m.resource_scalar(id, int32, kind=KIND, slot=6)
    if max_dist >= 0.0 and q.dim_x > 0:
        q.base_x, q.count_x = cells_in_reach(point.x, max_dist, width_x, q.dim_x, periodic)
        q.base_y, q.count_y = cells_in_reach(point.y, max_dist, width_y, q.dim_y, periodic)
        q.base_z, q.count_z = cells_in_reach(point.z, max_dist, width_z, q.dim_z, periodic)
    return q


@helper
def wrapped_once(k: int32, dim: int32) -> int32:
    """k mod dim for 0 <= k < 2 dim."""
    return k - dim if k >= dim else k


@builtin(group="Protocols")
def stretches(q: HashGridQuery) -> Anything:
    """One step of the outer loop of ``for j in query``: the query after it, whether there was a
    stretch, the list of points, and the places in it of the stretch and behind it.

    Cells that follow each other on the z axis are one stretch of the list of points; where the axis
    wraps, there are two.  The first one may have been begun by :func:`hash_grid_query_next`.  What
    they are always, between 0 and the number of points, is said once more, so that their elements
    need no guards.
    """
    ids = m.resource_array(q.id, INTS, kind=KIND, slot=1)
    next, end = q.next, q.end
    q.next, q.end = 0, 0
    there = next < end
    if not there and q.x < q.count_x:
        there = True
        starts = m.resource_array(q.id, INTS, kind=KIND, slot=0)
        x = wrapped_once(q.base_x + q.x, q.dim_x)
        y = wrapped_once(q.base_y + q.y, q.dim_y)
        row = (x * q.dim_y + y) * q.dim_z
        last = q.base_z + q.count_z
        low, high = row + q.base_z, row + min(last, q.dim_z)
        if q.wrapped != 0:
            low, high = row, row + last - q.dim_z
        if q.wrapped == 0 and last > q.dim_z:
            q.wrapped = 1
        else:
            q.wrapped = 0
            q.y += 1
            if q.y >= q.count_y:
                q.y = 0
                q.x += 1
        next, end = starts[low], starts[high]
    return q, there, ids, max(next, 0), min(end, int32(ids.shape[0]))


@builtin(group="Protocols")
def iterate(q: HashGridQuery) -> Anything:
    """One step of ``for j in query`` where a ``break`` may leave it: the query after it, whether
    there was a point, and its index."""
    while q.next >= q.end:
        q, there, _list, q.next, q.end = stretches(q)
        if not there:
            return q, False, int32(0)
    ids = m.resource_array(q.id, INTS, kind=KIND, slot=1)
    j = ids[q.next]
    q.next += 1
    return q, True, j


@builtin(group="Geometry", updates=("query", "index"))
def hash_grid_query_next(query: HashGridQuery, index: int32) -> Anything:
    """The next point of a query: ``while wp.hash_grid_query_next(query, j):`` puts its index into
    ``j`` and is False where there is none, which leaves ``j`` alone.

    ``for j in query`` is the shorter form of the same.
    """
    stepped, more, found = iterate(query)
    return stepped, found if more else index, more


@builtin(group="Geometry")
def hash_grid_point_id(id: uint64, index: int32) -> int32:
    """The index of the point at position ``index`` of the grid's list: cells in row-major order,
    points of a cell ascending.  Threads that take points in this order find neighbours in cache.
    """
    ids = m.resource_array(id, INTS, kind=KIND, slot=1)
    return ids[index]
