"""Reductions over the threads of a warp or a block, in an order that is the same on every device.

The threads that take part, counted from 0, make a tree: first each of the first 16 of a warp takes
what the one 16 behind it has, then each of the first 8 what the one 8 behind it has, and so on.
Where a thread is missing its partner keeps what it has.  The results of the warps of a block make
such a tree again.  In a branch that only some lanes take, between which others are missing, they go
one after the other, from the lowest lane on.
"""

from typing import Any

from heald.library.language import (
    N,
    Scalar,
    Vec,
    block_sync,
    block_threads,
    bool_,
    int32,
    m,
    shared_array,
    static,
    uint32,
)
from heald.library.registry import collective, helper


@collective
def reduce_sum(x: Scalar, scope: Any = "block") -> Scalar:
    """The sum of ``x`` over the threads of the block, or with ``scope="warp"`` of the warp.

    Every thread gets it.  Over a block it is a barrier: all threads come to it.  Float sums are
    rounded in the order of a tree, which is the same on every device.  Vectors go component by
    component.  Of bools it is the number of those that are true, an int32.
    """
    return _over(x, scope, "sum")


@collective
def reduce_sum(x: bool_, scope: Any = "block") -> int32:
    return _over(int32(x), scope, "sum")


@collective
def reduce_sum(x: Vec(Scalar, N), scope: Any = "block") -> Vec(Scalar, N):
    return _each(x, scope, "sum")


@collective
def reduce_min(x: Scalar, scope: Any = "block") -> Scalar:
    """The least ``x`` of the threads of the block, or with ``scope="warp"`` of the warp.

    Every thread gets it.  Over a block it is a barrier.  NaN and -0 go as with ``min(a, b)``, with
    the lower thread as ``a``.  Vectors go component by component.  False is less than True.
    """
    return _over(x, scope, "min")


@collective
def reduce_min(x: bool_, scope: Any = "block") -> bool_:
    return bool_(_over(int32(x), scope, "min"))


@collective
def reduce_min(x: Vec(Scalar, N), scope: Any = "block") -> Vec(Scalar, N):
    return _each(x, scope, "min")


@collective
def reduce_max(x: Scalar, scope: Any = "block") -> Scalar:
    """The greatest ``x`` of the threads of the block, or with ``scope="warp"`` of the warp.

    Every thread gets it.  Over a block it is a barrier.  NaN and -0 go as with ``max(a, b)``, with
    the lower thread as ``a``.  Vectors go component by component.  False is less than True.
    """
    return _over(x, scope, "max")


@collective
def reduce_max(x: bool_, scope: Any = "block") -> bool_:
    return bool_(_over(int32(x), scope, "max"))


@collective
def reduce_max(x: Vec(Scalar, N), scope: Any = "block") -> Vec(Scalar, N):
    return _each(x, scope, "max")


@helper
def _each(x: Vec(Scalar, N), scope: Any, how: Any) -> Vec(Scalar, N):
    y = x
    for k in static(range(len(x))):
        y[k] = _over(x[k], scope, how)
    return y


@helper
def _over(x: Scalar, scope: Any, how: Any) -> Scalar:
    if static(scope == "warp"):
        return _warp(x, how)
    return _block(x, how)


@helper
def _combine(a: Scalar, b: Scalar, how: Any) -> Scalar:
    if static(how == "min"):
        return m.select(b < a, b, a)
    if static(how == "max"):
        return m.select(b > a, b, a)
    return a + b


@helper
def _tree(x: Scalar, count: int32, how: Any) -> Scalar:
    """Of the lanes 0 to ``count - 1``; lane 0 gets it."""
    y = x
    for k in static((16, 8, 4, 2, 1)):
        other = m.shuffle(y, int32(k), mode="down")
        y = m.select(m.lane() + k < count, _combine(y, other, how), y)
    return y


@helper
def _warp(x: Scalar, how: Any) -> Scalar:
    here = m.vote(m.lane() >= 0, mode="ballot")
    if here & (here + uint32(1)) == uint32(0):
        y = _tree(x, int32(m.popcount(here)), how)
        return m.shuffle(y, int32(0), mode="index")
    lowest = _lowest(here)
    total = m.shuffle(x, lowest, mode="index")
    rest = here & (here - uint32(1))
    while rest != uint32(0):
        total = _combine(total, m.shuffle(x, _lowest(rest), mode="index"), how)
        rest = rest & (rest - uint32(1))
    return total


@helper
def _lowest(bits: uint32) -> int32:
    """The lowest bit that is set."""
    return int32(31) - int32(m.clz(bits & (uint32(0) - bits)))


@helper
def _block(x: Scalar, how: Any) -> Scalar:
    parts = shared_array(32, static(type(x)))
    whole = shared_array(1, static(type(x)))
    count = block_threads()
    thread = m.thread_index()
    warp = m.lshr(thread, int32(5))
    y = _tree(x, count - warp * 32, how)
    if m.lane() == 0:
        parts[warp] = y
    block_sync()
    warps = m.lshr(count + 31, int32(5))
    if thread < 32:
        z = _tree(parts[m.select(thread < warps, thread, int32(0))], warps, how)
        if thread == 0:
            whole[0] = z
    block_sync()
    return whole[0]
