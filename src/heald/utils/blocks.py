"""Scans and sorts by blocks of threads, for GPUs: integers, of which every order gives the same."""

from __future__ import annotations

from threading import local
from typing import Any

import heald as wp

THREADS = 256
"""Threads of a block; there is one for each digit too."""
ITEMS = 16
"""Elements that a thread of a block takes."""
TILE = THREADS * ITEMS
WARP = 32
WARPS = THREADS // WARP
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS
MOST_TILES = (2**31 - 1) // TILE
"""Tiles whose elements int32 can number."""
_PADDED = TILE + THREADS
_ADDED = 4096
"""Sums of tiles that every tile adds up for itself."""
_STAGED = 4
"""Bytes of elements of which shared memory holds a tile of keys and one of values."""


@wp.func
def takes_tile(tiles: wp.Int):
    """Is this thread one of a whole block, and its block one of ``tiles``?"""
    whole = wp.block_dim() == THREADS and wp.block_threads() == THREADS
    return whole and wp.tid() < THREADS * tiles and tiles <= MOST_TILES


# -- scans -----------------------------------------------------------------------------------------


@wp.func
def own_thread():
    """This thread of a whole block, as a number of which the compiler knows the range."""
    return wp.thread_index() % THREADS


@wp.func
def padded(k: int):
    """Where element ``k`` of a tile lies: neighbours of a column come from different banks."""
    return k + k // ITEMS


@wp.kernel
def _sum_tiles(values: wp.array(dtype=Any), sums: wp.array(dtype=Any)):
    wp.requires(takes_tile(sums.shape[0]))
    t = own_thread()
    b = wp.block_index()
    total = values.dtype()
    for r in range(ITEMS):
        i = b * TILE + r * THREADS + t
        if 0 <= i < values.shape[0]:
            total += values[i]
    total = wp.reduce_sum(total)
    if t == 0 and b < sums.shape[0]:
        sums[b] = total


@wp.kernel
def _scan_tiles(
    values: wp.array(dtype=Any),
    sums: wp.array(dtype=Any),
    scanned: bool,
    inclusive: bool,
    out: wp.array(dtype=Any),
):
    wp.requires(takes_tile(sums.shape[0]) and values.shape[0] == out.shape[0])
    t = own_thread()
    b = wp.block_index()
    lane, warp = t % WARP, t // WARP
    tile = wp.shared_array(_PADDED, values.dtype)
    warps = wp.shared_array(WARPS, values.dtype)
    for r in range(ITEMS):
        k = r * THREADS + t
        i = b * TILE + k
        x = values.dtype()
        if 0 <= i < values.shape[0]:
            x = values[i]
        tile[padded(k)] = x
    before = values.dtype()
    if scanned:
        if t == 0 and b < sums.shape[0]:
            before = sums[b]
    else:
        for k in range(t, wp.min(b, sums.shape[0]), THREADS):
            before += sums[k]
    before = wp.reduce_sum(before)
    own = values.dtype()
    for r in range(ITEMS):
        own += tile[padded(t * ITEMS + r)]
    until = own
    for k in range(5):
        other = wp.shuffle_up(until, 1 << k)
        if lane >= 1 << k:
            until += other
    if lane == WARP - 1:
        warps[warp] = until
    wp.block_sync()
    running = before + (until - own)
    for w in range(WARPS):
        if w < warp:
            running += warps[w]
    for r in range(ITEMS):
        k = padded(t * ITEMS + r)
        x = tile[k]
        tile[k] = running + x if inclusive else running
        running += x
    wp.block_sync()
    for r in range(ITEMS):
        k = r * THREADS + t
        i = b * TILE + k
        if 0 <= i < out.shape[0]:
            out[i] = tile[padded(k)]


class Scanner:
    """Running sums of ``count`` integers, again and again with the same room.

    Tiles are summed, and each tile continues where those before it ended (Sengupta, Harris and
    Garland, "Efficient parallel scan algorithms for GPUs", 2008): it adds up the sums before it, or
    where these are many they are scanned in the same way first.
    """

    def __init__(self, count: int, dtype: Any, device: Any) -> None:
        self.tiles = -(-count // TILE)
        self._sums = wp.zeros(self.tiles, dtype=dtype, device=device)
        self._above = Scanner(self.tiles, dtype, device) if self.tiles > _ADDED else None

    def run(self, values: wp.array, out: wp.array, inclusive: bool) -> None:
        """Scan ``values`` into ``out``, which may be the same array."""
        sums, above = self._sums, self._above
        if self.tiles > 1:
            _launch(_sum_tiles, self.tiles, values, sums)
        if above is not None:
            above.run(sums, sums, inclusive=False)
        _launch(_scan_tiles, self.tiles, values, sums, above is not None, inclusive, out)


def scan(values: wp.array, out: wp.array, inclusive: bool) -> None:
    """Running sums of integers; ``out`` may be ``values``."""
    scanner: Scanner = _kept(Scanner, values.device, values.size, values.dtype)
    scanner.run(values, out, inclusive)


# -- sorts -----------------------------------------------------------------------------------------


@wp.func
def ascending(key: wp.uint32):
    """Unsigned bits in the order of the keys."""
    return key


@wp.func
def ascending(key: wp.int32):  # noqa: F811, D103
    return wp.uint32(key) ^ wp.uint32(0x80000000)


@wp.func
def ascending(key: wp.uint64):  # noqa: F811, D103
    return key


@wp.func
def ascending(key: wp.int64):  # noqa: F811, D103
    return wp.uint64(key) ^ wp.uint64(0x8000000000000000)


@wp.func
def digit_of(key: Any, shift: int):
    """Eight bits of a key."""
    bits = ascending(key)
    return int((bits >> type(bits)(shift)) & type(bits)(DIGITS - 1))


@wp.kernel
def _count_digits(keys: wp.array(dtype=Any), shift: int, counts: wp.array(dtype=int, ndim=2)):
    wp.requires(takes_tile(counts.shape[1]) and counts.shape[0] == DIGITS)
    t = own_thread()
    b = wp.block_index()
    bins = wp.shared_array(DIGITS, int)
    if wp.thread_index() < DIGITS:
        bins[wp.thread_index()] = 0
    wp.block_sync()
    for r in range(ITEMS):
        i = b * TILE + r * THREADS + t
        if 0 <= i < keys.shape[0]:
            bins[digit_of(keys[i], shift)] += 1
    wp.block_sync()
    if t < counts.shape[0] and b < counts.shape[1]:
        counts[t, b] = bins[t]


@wp.func
def fits(
    places: wp.array(dtype=int, ndim=2),
    count: wp.Int,
    values: wp.array(dtype=Any),
    keys_out: wp.array(dtype=Any),
    values_out: wp.array(dtype=Any),
):
    """Are there places for each tile, and as many values, and room for as many, as keys?"""
    room = keys_out.shape[0] == count and values_out.shape[0] == count
    tiles = takes_tile(places.shape[1]) and places.shape[0] == DIGITS
    return room and tiles and values.shape[0] == count


@wp.func
def rank_in_warp(digit: int, there: bool, seen: wp.array(dtype=int, ndim=2), warp: int):
    """How many keys with this digit came before in the tile of a warp; they are counted in
    ``seen``.

    Votes find the threads with equal digits; one of them counts for all.
    """
    lane = own_thread() % WARP
    alike = wp.ballot(there)
    for b in range(DIGIT_BITS):
        one = (digit >> b) & 1 == 1
        ones = wp.ballot(one)
        alike &= ones if one else ~ones
    before = (wp.uint32(1) << wp.uint32(lane)) - wp.uint32(1)
    rank = wp.bit_count(alike & before)
    found = 0
    if there and rank == 0:
        found = wp.atomic_add(seen, warp, digit, wp.bit_count(alike))
    lowest = wp.bit_count((alike & (wp.uint32(0) - alike)) - wp.uint32(1))
    return wp.shuffle_idx(found, lowest % WARP) + rank


@wp.kernel
def _move_by_digit(
    keys: wp.array(dtype=Any),
    values: wp.array(dtype=Any),
    shift: int,
    places: wp.array(dtype=int, ndim=2),
    keys_out: wp.array(dtype=Any),
    values_out: wp.array(dtype=Any),
):
    wp.requires(fits(places, keys.shape[0], values, keys_out, values_out))
    t = own_thread()
    lane, warp = t % WARP, t // WARP
    first = wp.block_index() * TILE + warp * (WARP * ITEMS) + lane
    seen = wp.shared_array((WARPS, DIGITS), int)
    own_keys = wp.zeros(shape=ITEMS, dtype=keys.dtype)
    for r in range(ITEMS):
        i = first + r * WARP
        if 0 <= i < keys.shape[0]:
            own_keys[r] = keys[i]
    for w in range(WARPS):
        seen[w, t] = 0
    wp.block_sync()
    ranks = wp.zeros(shape=ITEMS, dtype=int)
    for r in range(ITEMS):
        there = first + r * WARP < keys.shape[0]
        ranks[r] = rank_in_warp(digit_of(own_keys[r], shift), there, seen, warp)
    wp.block_sync()
    place = 0
    if t < places.shape[0] and wp.block_index() < places.shape[1]:
        place = places[t, wp.block_index()]
    for w in range(WARPS):
        count = seen[w, t]
        seen[w, t] = place
        place += count
    wp.block_sync()
    for r in range(ITEMS):
        i = first + r * WARP
        if 0 <= i < values.shape[0]:
            to = seen[warp, digit_of(own_keys[r], shift)] + ranks[r]
            if 0 <= to < keys_out.shape[0] and to < values_out.shape[0]:
                keys_out[to] = own_keys[r]
                values_out[to] = values[i]


@wp.kernel
def _move_by_tile(
    keys: wp.array(dtype=Any),
    values: wp.array(dtype=Any),
    shift: int,
    places: wp.array(dtype=int, ndim=2),
    keys_out: wp.array(dtype=Any),
    values_out: wp.array(dtype=Any),
):
    wp.requires(fits(places, keys.shape[0], values, keys_out, values_out))
    t = own_thread()
    lane, warp = t % WARP, t // WARP
    first = wp.block_index() * TILE
    own_first = warp * (WARP * ITEMS) + lane
    filled = wp.min(keys.shape[0] - first, TILE)
    seen = wp.shared_array((WARPS, DIGITS), int)
    totals = wp.shared_array(WARPS, int)
    moves = wp.shared_array(DIGITS, int)
    sorted_keys = wp.shared_array(TILE, keys.dtype)
    sorted_values = wp.shared_array(TILE, values.dtype)
    own_keys = wp.zeros(shape=ITEMS, dtype=keys.dtype)
    for r in range(ITEMS):
        i = first + own_first + r * WARP
        if 0 <= i < keys.shape[0]:
            own_keys[r] = keys[i]
    for w in range(WARPS):
        seen[w, t] = 0
    wp.block_sync()
    ranks = wp.zeros(shape=ITEMS, dtype=int)
    for r in range(ITEMS):
        there = own_first + r * WARP < filled
        ranks[r] = rank_in_warp(digit_of(own_keys[r], shift), there, seen, warp)
    wp.block_sync()
    own = 0
    for w in range(WARPS):
        own += seen[w, t]
    until = own
    for k in range(5):
        other = wp.shuffle_up(until, 1 << k)
        if lane >= 1 << k:
            until += other
    if lane == WARP - 1:
        totals[warp] = until
    wp.block_sync()
    start = until - own
    for w in range(WARPS):
        if w < warp:
            start += totals[w]
    if t < places.shape[0] and wp.block_index() < places.shape[1]:
        moves[t] = places[t, wp.block_index()] - start
    for w in range(WARPS):
        count = seen[w, t]
        seen[w, t] = start
        start += count
    wp.block_sync()
    for r in range(ITEMS):
        i = first + own_first + r * WARP
        if 0 <= i < keys.shape[0] and i < values.shape[0]:
            to = (seen[warp, digit_of(own_keys[r], shift)] + ranks[r]) % TILE
            sorted_keys[to] = own_keys[r]
            sorted_values[to] = values[i]
    wp.block_sync()
    for r in range(ITEMS):
        k = r * THREADS + t
        if k < filled:
            key = sorted_keys[k]
            to = moves[digit_of(key, shift)] + k
            if 0 <= to < keys_out.shape[0] and to < values_out.shape[0]:
                keys_out[to] = key
                values_out[to] = sorted_values[k]


Pair = tuple[wp.array, wp.array]


class Sorter:
    """Sorts of ``count`` pairs, again and again with the same room.

    Least significant digit first.  Each warp finds the keys of a digit among 32 neighbours by
    votes, and how many there were before them in the tile (Merrill and Grimshaw, "High performance
    and scalable radix sorting", 2011, section 3).  Small elements are put in order within the tile
    first, so that they leave it side by side.
    """

    def __init__(self, count: int, device: Any) -> None:
        self._tiles = -(-count // TILE)
        self._counts = wp.empty((DIGITS, self._tiles), dtype=int, device=device)
        self._flat = self._counts.reshape(-1)
        self._scanner = Scanner(self._flat.size, wp.int32, device)

    def run(self, keys: Pair, values: Pair, bits: int) -> int:
        """Sort by the lowest ``bits`` bits of the keys; stable.

        Args:
            keys: what to sort, and room for as many.
            values: the same.
            bits: of unsigned keys, or all bits of signed ones.

        Returns:
            Which of the two arrays holds the result.
        """
        here = 0
        small = max(keys[0].itemsize, values[0].itemsize) <= _STAGED
        move = _move_by_tile if small else _move_by_digit
        for shift in range(0, bits, DIGIT_BITS):
            _launch(_count_digits, self._tiles, keys[here], shift, self._counts)
            self._scanner.run(self._flat, self._flat, inclusive=False)
            there = 1 - here
            moved = (keys[there], values[there])
            _launch(move, self._tiles, keys[here], values[here], shift, self._counts, *moved)
            here = there
        return here


def sort_pairs(keys: Pair, values: Pair, bits: int) -> int:
    """One sort; see :meth:`Sorter.run`."""
    sorter: Sorter = _kept(Sorter, keys[0].device, keys[0].size)
    return sorter.run(keys, values, bits)


class _Rooms(local):
    """What the last scans and sorts of a thread needed, for others of the same size."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], Any] = {}


_ROOMS = _Rooms()
_KEPT = 8


def _kept(kind: Any, device: Any, *of: Any) -> Any:
    """A scanner or sorter whose room nothing uses that is not done before, in this stream.

    Captured launches run at any time, so they have their own.
    """
    stream = wp.get_stream(device) if device.is_cuda else None
    if stream is None or stream.is_capturing:
        return kind(*of, device)
    known = _ROOMS.known
    key = (kind, device.alias, stream, *of)
    made = known.pop(key, None) or kind(*of, device)
    known[key] = made
    if len(known) > _KEPT:
        del known[next(iter(known))]
    return made


def _launch(kernel: Any, tiles: int, *arguments: Any) -> None:
    device = arguments[0].device
    wp.launch(kernel, dim=tiles * THREADS, inputs=arguments, device=device, block_dim=THREADS)
