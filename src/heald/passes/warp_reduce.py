"""Atomics of threads on one element, of which those of a warp can be made one."""

from __future__ import annotations

from collections.abc import Set

from heald.ir import ATOMICS, Attr, Kernel, Op, Value, walk
from heald.passes.facts import is_pure, space_of
from heald.passes.rebuild import Rebuild
from heald.types import Scalar, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

_WHOLE = frozenset({"add", "sub", "min", "max", "and", "or", "xor"})
_SUMS = frozenset({"add", "sub"})
_EXTREMA = frozenset({"min", "max"})
_BY_LOOP = frozenset({"add", "sub", "min", "max"})
_OWN = frozenset({"tid", "thread_index", "block_index", "lane"})


def warp_reduce(kernel: Kernel, *, floats: bool = False) -> Kernel:
    """Mark atomics whose element is the same for every thread of a launch, and those of small
    integers: ``warp=true``.

    Before::

        %zero = const 0
        %old = atomic_add %counts, %zero, %x

    After::

        %zero = const 0
        %old = atomic_add %counts, %zero, %x [warp=true]

    The threads of a warp that come to a marked op together add up what they have, and one of them
    updates memory.  Integers come out the same in every order.  Sums of floats do not, so they are
    left alone unless ``floats`` is asked for; nothing says in which order a GPU adds them anyhow.

    The least and the greatest of floats are the same in every order, bit by bit, where NaN among
    the operands changes nothing, as it does not: a new value replaces an old one only where it
    compares as beyond it.  Only a zero that comes out may be 0.0 or -0.0, whichever is first, and
    which threads are first nothing says anyhow.

    Integers of 8 and 16 bits are marked whatever their element is: those of a warp that have the
    same one are added up.  A GPU updates them by a loop around the word, all but ``and``, ``or``
    and ``xor``; with ever more threads at one word nearly all rounds of such a loop are in vain.

    Left alone too are atomics whose old value is used, and those of local arrays: each thread has
    its own at the same address.  Ops of a loop count only where their index rests on nothing that
    changes from one iteration to the next: threads that meet need not be at the same one.

    Args:
        kernel: as the scalar code generator takes it.
        floats: mark sums of float32 and float64 too.
    """
    used = {v for op in walk(kernel.body) for v in op.operands}
    fixed = _fixed(kernel)
    marked = {
        op
        for op in walk(kernel.body)
        if op.name in ATOMICS
        and op.result not in used
        and space_of(op) != "local"
        and _fits(op, fixed, floats)
    }
    if not marked:
        return kernel
    rebuild = Rebuild(kernel)

    def visit(op: Op) -> None:
        if op not in marked:
            rebuild.copy(op, visit)
            return
        attrs: dict[str, Attr] = {**op.attrs, "warp": True}
        rebuild.append(rebuild.remade(op, rebuild.get_all(op.operands), (), attrs))

    return rebuild.rebuilt(visit)


def _fits(op: Op, fixed: Set[Value], floats: bool) -> bool:
    kind, t = op.name.removeprefix("atomic_"), op.result.type
    assert isinstance(t, Scalar)
    if t in (i8, u8, i16, u16):
        return kind in _BY_LOOP
    if t in (i32, u32, i64, u64):
        known = kind in _WHOLE
    else:
        known = t in (f32, f64) and (kind in _EXTREMA or (floats and kind in _SUMS))
    return known and all(v in fixed for v in op.operands[:-1])


def _fixed(kernel: Kernel) -> set[Value]:
    """Values that are one and the same in all threads, whenever they are computed."""
    fixed = set(kernel.params)
    for op in walk(kernel.body):
        known = op.name == "subview" or (is_pure(op) and op.name not in _OWN)
        if known and all(v in fixed for v in op.operands):
            fixed.update(op.results)
    return fixed
