"""Widening over threads: whether a kernel may run several neighbouring threads in one stream of
vector instructions, whether that pays, and how many.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from heald.ir import ATOMICS, LOOPS, Kernel, Op, Region, Value, walk
from heald.ops import TABLE
from heald.passes.facts import is_guarded, is_pure, launch_rank
from heald.passes.pressure import most_alive
from heald.passes.uniformity import Uniformity, analyse_uniformity
from heald.types import Array, Scalar, leaves, size_of

MAX_LOCAL_BYTES = 256 * 1024
"""What the local arrays of all lanes together may take of the stack."""
_BLOCK_OPS = frozenset(
    {"block_sync", "shuffle", "vote", "thread_index", "block_index", "lane", "block_dim"}
)
_UNORDERED_ATOMICS = frozenset(
    {
        "atomic_add",
        "atomic_sub",
        "atomic_min",
        "atomic_max",
        "atomic_and",
        "atomic_or",
        "atomic_xor",
    }
)
_FREE = frozenset({"const", "yield", "return", "tid", "launch_dim", "dim", "stride", "extract"})
_LOOP_WEIGHT, _ARM_WEIGHT = 8.0, 0.25
_SHUFFLED_BYTES, _FEW_LEAVES, _SHUFFLED_SHARE = 32, 4, 6
_LONG = 64
"""Computations of as many ops take longer than the accesses before and after them."""
_FOURFOLD, _TWOFOLD = 8, 30
"""Most vectors alive at once, of lanes that share one, for four or two to run side by side."""
_GATHER_SHARE = 3
"""Accesses of scattered elements may make at most one in this many ops."""


def coalesce(kernel: Kernel, *, vector_bytes: int) -> Kernel:
    """Record on a kernel without exits how many lanes it is to run with.

    ``attrs["width"]`` becomes the number of lanes: as many as the widest number that the kernel
    computes with has room for in ``attrs["vectors"]`` vectors; 1 says that it stays scalar, and
    ``attrs["scalar"]`` says why.  The ops stay as they are: the code generator emits both forms
    from them.

    Refused are kernels whose threads notice each other (block ops, old values of atomics, order of
    float atomics), that print, or that pass arrays through branches and loops.  Widening does not
    pay where scattered accesses dominate the innermost loop, which in variants that do not know
    their arrays to be dense (``attrs["unit"]``) are all but shared ones.  It never changes a bit.

    Args:
        kernel: normalised and scalarised.
        vector_bytes: size of a vector register of the target.
    """
    reason = refusal(kernel)
    if not reason:
        uniformity = analyse_uniformity(kernel)
        lanes = width_for(kernel, uniformity, vector_bytes)
        vectors = vectors_for(kernel, uniformity, lanes, vector_bytes)
        lanes *= vectors
        reason = (
            view_refusal(kernel, uniformity)
            or _local_refusal(kernel, lanes)
            or _cost_refusal(kernel, uniformity)
        )
        if not reason:
            return replace(kernel, attrs={**kernel.attrs, "width": lanes, "vectors": vectors})
    return replace(kernel, attrs={**kernel.attrs, "width": 1, "scalar": reason})


# -- legality --------------------------------------------------------------------------------------


def refusal(kernel: Kernel, *, ordered: bool = True) -> str:
    """Why a kernel cannot be widened, or nothing.

    ``ordered`` says that without widening threads run one after the other, so that float atomics
    have an order to keep.
    """
    if launch_rank(kernel) == 0:
        return "it reads no launch index"
    used = {v for op in walk(kernel.body) for v in op.operands}
    for op in walk(kernel.body):
        if op.name in _BLOCK_OPS:
            return f"{op.name} concerns the threads of a block"
        if op.name == "printf":
            return "it prints"
        if op.name in ATOMICS:
            reason = _atomic_refusal(op, used)
            if reason:
                return reason
        if op.regions and any(isinstance(v.type, Array) for v in _carried(op)):
            return "an array passes through a branch or loop"
    return _order_refusal(kernel) if ordered else ""


def _atomic_refusal(op: Op, used: set[Value]) -> str:
    if op.result in used:
        return f"the old value of {op.name} is used"
    if op.name not in _UNORDERED_ATOMICS:
        return f"the last {op.name} wins, so their order matters"
    return ""


def _order_refusal(kernel: Kernel) -> str:
    """Float atomics round, so their order shows; one in each thread keeps that of the threads."""
    ordered = [op for op in walk(kernel.body) if op.name in ATOMICS and _rounds(op)]
    if len(ordered) > 1:
        return "the order of its float atomics matters"
    loops = [region for op in walk(kernel.body) if op.name in LOOPS for region in op.regions]
    if any(op is ordered[0] for region in loops for op in walk(region) if ordered):
        return "the order of its float atomics matters"
    return ""


def _rounds(op: Op) -> bool:
    t = op.result.type
    return isinstance(t, Scalar) and t.is_float


def _carried(op: Op) -> list[Value]:
    return [*op.results, *(arg for region in op.regions for arg in region.args)]


def view_refusal(kernel: Kernel, uniformity: Uniformity) -> str:
    """Why arrays that are no parameters cannot be widened, or nothing."""
    for op in walk(kernel.body):
        handle = op.name in ("resource_array", "resource_scalar")
        if handle and not uniformity.is_uniform(op.operands[0]):
            return "threads use handles of their own"
        if op.name == "subview" and not _slices_alike(op, uniformity):
            return "threads slice arrays in their own ways"
    return ""


def _slices_alike(op: Op, uniformity: Uniformity) -> bool:
    """Do all lanes take the same stretch of each sliced axis?"""
    if "s" in str(op.attrs["axes"]) and op.operands[0] in uniformity.ragged:
        return False
    rest = iter(op.operands[1:])
    for kind in str(op.attrs["axes"]):
        taken = [next(rest) for _ in range({"i": 1, "s": 3, "f": 0}[kind])]
        if kind == "s" and not uniformity.are_uniform(tuple(taken)):
            return False
    return True


def _local_refusal(kernel: Kernel, lanes: int) -> str:
    total = 0
    for op in walk(kernel.body):
        if op.name == "alloc":
            t = op.result.type
            assert isinstance(t, Array)
            total += prod(t.shape or ()) * size_of(t.dtype)
    return "its local arrays are too large" if total * lanes > MAX_LOCAL_BYTES else ""


# -- width -----------------------------------------------------------------------------------------


def width_for(kernel: Kernel, uniformity: Uniformity, vector_bytes: int) -> int:
    """How many of the floats that lanes compute with most fit a vector, else 4-byte numbers.

    Ops in loops count more, those in branches where lanes part less: a long way round through
    float64 that hardly any lane takes should not halve the width.  Elements of many numbers are
    taken apart by shuffles, which are cheap within 32 bytes only.
    """
    weights = {4: 0.0, 8: 0.0}
    _weigh(kernel.body, uniformity, 1.0, weights)
    if _is_shuffling(kernel, uniformity):
        vector_bytes = min(vector_bytes, _SHUFFLED_BYTES)
    return vector_bytes // (8 if weights[8] > weights[4] else 4)


def vectors_for(kernel: Kernel, uniformity: Uniformity, lanes: int, vector_bytes: int) -> int:
    """How many vectors of ``lanes`` threads a stream of instructions runs side by side.

    Several hide how long each instruction takes, which pays in loops and long computations as long
    as there are registers for them.  Processors without registers for masks widen and narrow those
    of few lanes on every way from block to block.
    """
    ops = list(walk(kernel.body))
    loops = [op for op in ops if op.name in LOOPS]
    if any(op.name == "alloc" for op in ops) or _is_shuffling(kernel, uniformity):
        return 1
    if not loops and _length(kernel.body, uniformity) < _LONG:
        return 1
    alive = most_alive(kernel, uniformity, vector_bytes // lanes)
    if alive <= _FOURFOLD:
        return 4
    masks = vector_bytes == 32 and not uniformity.divergent.isdisjoint(loops)
    return 2 if alive <= _TWOFOLD or masks else 1


def _length(region: Region, uniformity: Uniformity) -> float:
    """How many vector ops run, of which those of divergent branches mostly do not."""
    total = 0.0
    for op in region.ops:
        weight = _ARM_WEIGHT if op in uniformity.divergent else 1.0
        total += _is_vector_op(op, uniformity)
        total += weight * sum(_length(inner, uniformity) for inner in op.regions)
    return total


def _is_shuffling(kernel: Kernel, uniformity: Uniformity) -> bool:
    """Is much of the work to take long elements apart?"""
    ops = list(walk(kernel.body))
    taken = sum(_takes_apart(op, uniformity) for op in ops)
    return taken * _SHUFFLED_SHARE > sum(_is_vector_op(op, uniformity) for op in ops)


def _takes_apart(op: Op, uniformity: Uniformity) -> bool:
    if op.name not in ("load", "store") or "leaf" not in op.attrs:
        return False
    array = op.operands[0].type
    assert isinstance(array, Array)
    last = op.operands[array.ndim]
    return len(leaves(array.dtype)) > _FEW_LEAVES and uniformity.steps.get(last) == 1


def _weigh(region: Region, uniformity: Uniformity, each: float, weights: dict[int, float]) -> None:
    for op in region.ops:
        inner = each
        if op.name in LOOPS:
            inner = each * _LOOP_WEIGHT
        elif op in uniformity.divergent:
            inner = each * _ARM_WEIGHT
        for nested in op.regions:
            _weigh(nested, uniformity, inner, weights)
        for value in op.results:
            t = value.type
            if isinstance(t, Scalar) and t.is_float and not uniformity.is_uniform(value):
                weights[max(4, t.bits // 8)] += each


# -- profit ----------------------------------------------------------------------------------------


def _cost_refusal(kernel: Kernel, uniformity: Uniformity) -> str:
    dense = kernel.attrs.get("unit") is True
    for region in _innermost(kernel.body):
        gathers, ops = 0, 0
        for op in walk(region):
            ops += _is_vector_op(op, uniformity)
            gathers += is_scattered(op, uniformity, dense)
        if gathers * _GATHER_SHARE > ops:
            where = "the kernel" if region is kernel.body else "its innermost loop"
            return f"{gathers} of {ops} ops of {where} access scattered elements"
    return ""


def _is_vector_op(op: Op, uniformity: Uniformity) -> bool:
    """Does widening make one instruction out of those of all lanes?"""
    if op.name in ("load", "store"):
        return True
    return op.name not in _FREE and any(v not in uniformity.steps for v in op.results)


def _innermost(body: Region) -> list[Region]:
    """Bodies of loops that contain no loop, else the kernel."""
    loops = [op for op in walk(body) if op.name in LOOPS]
    inner = [op.regions[-1] for op in loops if not any(o.name in LOOPS for o in _inside(op))]
    return inner or [body]


def is_plain_arm(region: Region) -> bool:
    """Can any lane run all of an arm, whether it is meant to or not?"""
    return all(
        op.name in ("yield", "if", "assume")
        or is_pure(op)
        or (op.name in TABLE and not is_guarded(op) and bool(op.results))
        for op in walk(region)
    )


def _inside(op: Op) -> list[Op]:
    return [inner for region in op.regions for inner in walk(region)]


def is_commutative(op: Op, t: Scalar) -> bool:
    """May the lanes of an atomic on elements of type ``t`` be combined before they meet memory?"""
    return op.name in _UNORDERED_ATOMICS and t.is_integer


def is_scattered(op: Op, uniformity: Uniformity, dense: bool) -> bool:
    """Is this an access whose elements do not follow each other from lane to lane?"""
    if op.name not in ("load", "store") and op.name not in ATOMICS:
        return False
    array = op.operands[0]
    assert isinstance(array.type, Array)
    index = op.operands[1 : 1 + array.type.ndim]
    steps = [uniformity.steps.get(v) for v in index]
    together = uniformity.is_uniform(array) and all(step == 0 for step in steps)
    if op.name in ATOMICS:
        t = op.result.type
        return not (together and isinstance(t, Scalar) and is_commutative(op, t))
    if array.type.space == "local":
        return any(step != 0 for step in steps)
    if not uniformity.is_uniform(array):
        return True
    if all(step == 0 for step in steps):
        return False
    return not (dense and steps[-1] == 1 and all(step == 0 for step in steps[:-1]))
