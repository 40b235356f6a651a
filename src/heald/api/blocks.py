"""Threads of a block that work together; these names mean something inside kernels only."""

from __future__ import annotations

from typing import Any

from heald.api.intrinsics import kernels_only
from heald.frontend import intrinsic


@intrinsic("thread_index")
def thread_index() -> int:
    """The number of this thread in its block, 0 to ``wp.block_dim() - 1``, int32."""
    raise kernels_only("thread_index")


@intrinsic("block_index")
def block_index() -> int:
    """The number of this thread's block, int32 (int64 where ``wp.tid()`` is).

    Blocks are linear: they take ``block_dim`` threads at a time, row-major over the launch.
    """
    raise kernels_only("block_index")


@intrinsic("block_threads")
def block_threads() -> int:
    """How many threads this block has, int32: ``wp.block_dim()``, in the last block of a launch
    perhaps fewer."""
    raise kernels_only("block_threads")


@intrinsic("shared_array")
def shared_array(shape: Any, dtype: Any, sync: str = "manual") -> Any:
    """An array that the threads of a block share: ``s = wp.shared_array(256, float)``.

    Args:
        shape: one to four positive integers known at compile time.
        dtype: the element type.
        sync: with ``"auto"`` the compiler puts a barrier between any two accesses of the array that
            might conflict; then all threads of the block have to come by.

    It is there before the threads of the block begin, and its elements are not initialised.  A
    kernel has 48 KiB for all its shared arrays.  Between a write by one thread and a use by another
    stands a ``wp.block_sync()``.
    """
    raise kernels_only("shared_array")


@intrinsic("block_sync")
def block_sync() -> None:
    """A barrier: no thread of the block goes on before all have come here.

    All threads of the block come to it, or none does.
    """
    raise kernels_only("block_sync")


@intrinsic("shuffle_idx")
def shuffle_idx(x: Any, lane: int) -> Any:
    """``x`` of lane ``lane`` of this warp, the own where that lane is not there.

    A warp is 32 threads of a block that follow each other; a lane, 0 to 31, is a thread's place in
    it.  Lanes that do not run this call, because they are in another branch, are not there.
    """
    raise kernels_only("shuffle_idx")


@intrinsic("shuffle_up")
def shuffle_up(x: Any, delta: int) -> Any:
    """``x`` of the lane ``delta`` before this one, the own where that lane is not there."""
    raise kernels_only("shuffle_up")


@intrinsic("shuffle_down")
def shuffle_down(x: Any, delta: int) -> Any:
    """``x`` of the lane ``delta`` behind this one, the own where that lane is not there."""
    raise kernels_only("shuffle_down")


@intrinsic("shuffle_xor")
def shuffle_xor(x: Any, mask: int) -> Any:
    """``x`` of the lane whose number is this one's ``^ mask``, the own where it is not there."""
    raise kernels_only("shuffle_xor")


@intrinsic("warp_map")
def warp_map(f: Any, *args: Any) -> Any:
    """``f(*args)``, a function in which the lanes of a warp work together and no others.

    ``f`` may shuffle, vote and reduce with ``scope="warp"`` among the lanes that run the call.  On
    GPUs their mask is known to the code, as compute capability 7.0 and newer want it; elsewhere
    lanes run in step.  A function with barriers or shared arrays is refused.
    """
    raise kernels_only("warp_map")


@intrinsic("ballot")
def ballot(condition: bool) -> int:
    """A uint32 with the bits of the lanes of this warp whose ``condition`` is true."""
    raise kernels_only("ballot")


@intrinsic("any")
def any_(condition: bool, scope: str = "warp") -> bool:
    """Is ``condition`` true for a thread of the warp, or with ``scope="block"`` of the block?

    For a block it is a barrier too.
    """
    raise kernels_only("any")


@intrinsic("all")
def all_(condition: bool, scope: str = "warp") -> bool:
    """Is ``condition`` true for all threads of the warp, or with ``scope="block"`` of the block?

    For a block it is a barrier too.
    """
    raise kernels_only("all")
