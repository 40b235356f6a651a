"""Updates of elements that belong to one thread need no atomics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heald.ir import ATOMICS, Kernel, Op, Value, walk
from heald.passes.array_roots import Root, array_roots
from heald.passes.facts import is_guarded, is_pure
from heald.passes.rebuild import Rebuild
from heald.types import Array, Scalar

_PLAIN = {"add": "iadd", "sub": "isub", "and": "iand", "or": "ior", "xor": "ixor"}
_PLAIN_FLOAT = {"add": "fadd", "sub": "fsub"}
_OF_A_THREAD = frozenset({"tid", "lane", "thread_index", "block_index"})
_SIGNS = {"iadd": (1, 1), "isub": (1, -1)}

_Key = int | Value
"""A launch index, by its axis, or a value that all threads share."""
_Form = Mapping[_Key, int]
"""An index as a sum of keys, each so many times, modulo the size of its type."""


def own_updates(kernel: Kernel) -> Kernel:
    """Replace updates such as ``a[i] += v`` of elements that no other thread updates.

    Before, where ``%i`` is the launch index::

        %old = atomic_add %a, %i, %v [scope="launch", guard=false, id=3]

    After::

        %old = load %a, %i [guard=false, id=3]
        %new = fadd %old, %v
        store %a, %i, %new [guard=false, id=3]

    Only in variants for arrays that do not overlap, themselves included (``attrs["unit"]`` and
    ``attrs["apart"]``), and where no guard is left.  An update that other launches must not disturb
    (``wp.atomic_add``) has no such scope and stays.

    Args:
        kernel: scalarised; compiled for CPUs, where a launch runs each of its threads once.
    """
    if not (kernel.attrs.get("unit") and kernel.attrs.get("apart")):
        return kernel
    owned = {op for op in find_own_updates(kernel) if not is_guarded(op)}
    if not owned:
        return kernel
    rebuild = Rebuild(kernel)

    def visit(op: Op) -> None:
        if op not in owned:
            rebuild.copy(op, visit)
            return
        t = op.result.type
        assert isinstance(t, Scalar)
        rebuild.span = op.span
        *place, value = rebuild.get_all(op.operands)
        attrs = {name: given for name, given in op.attrs.items() if name != "scope"}
        (old,) = rebuild.emit("load", place, (t,), (), **attrs)
        kind = op.name.removeprefix("atomic_")
        plain = (_PLAIN_FLOAT if t.is_float else _PLAIN)[kind]
        (new,) = rebuild.emit(plain, (old, value), (t,))
        rebuild.emit("store", (*place, new), (), (), **attrs)
        rebuild.put(op.result, old)

    return rebuild.rebuilt(visit)


def find_own_updates(kernel: Kernel) -> frozenset[Op]:
    """Updates for the launch (``scope="launch"``) of elements that no other thread updates.

    In launches of the kernel's rank, for arrays that do not overlap: an array qualifies where all
    that the kernel writes to it is at one place, and that place has each launch index, once and
    with nothing but what all threads share added, on an axis of its own.
    """
    updates = [op for op in walk(kernel.body) if op.attrs.get("scope") == "launch"]
    updates = [op for op in updates if op.name in ATOMICS]
    if not updates or not kernel.rank:
        return frozenset()
    forms, roots = Forms(kernel), array_roots(kernel)
    places: dict[Root, list[list[_Form] | None]] = {}
    for op in walk(kernel.body):
        if op.name == "store" or op.name in ATOMICS:
            for root in roots.get(op.operands[0], ()):
                places.setdefault(root, []).append(forms.place(op))
    used = {v for op in walk(kernel.body) for v in op.operands}

    def is_own(op: Op) -> bool:
        array = op.operands[0]
        found = roots.get(array, frozenset())
        if len(found) != 1 or op.result in used or op.name.removeprefix("atomic_") not in _PLAIN:
            return False
        first, *others = places[next(iter(found))]
        return first is not None and all(other == first for other in others)

    return frozenset(filter(is_own, updates))


@dataclass(slots=True)
class Forms:
    """Indices as sums of launch indices and of what all threads share."""

    kernel: Kernel
    _makers: dict[Value, Op] = field(default_factory=dict)
    _known: dict[Value, _Form | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._makers.update((v, op) for op in walk(self.kernel.body) for v in op.results)

    def place(self, op: Op) -> list[_Form] | None:
        """The indices of an access to an array parameter, where they tell threads apart."""
        array = op.operands[0]
        assert isinstance(array.type, Array)
        if not self._is_given(array):
            return None  # a view, whose own place would count too
        found: list[_Form] = []
        axes: list[_Key] = []
        for index in op.operands[1 : 1 + array.type.ndim]:
            form = self._form(index)
            if form is None:
                return None
            found.append(form)
            own = [key for key in form if isinstance(key, int)]
            if len(own) == 1 and abs(form[own[0]]) == 1:
                axes += own
            elif own:
                return None
        return found if set(axes) >= set(range(self.kernel.rank)) else None

    def is_at_thread(self, op: Op) -> bool:
        """Is an access to an array parameter, on its first axis, at the first launch index, or at
        one that lies a constant beside it?"""
        form = self._form(op.operands[1]) if self._is_given(op.operands[0]) else None
        if form is None or form.get(0) != 1:
            return False
        return all(key == 0 or self._is_constant(key) for key in form)

    def _is_constant(self, key: _Key) -> bool:
        maker = None if isinstance(key, int) else self._makers.get(key)
        return maker is not None and maker.name == "const"

    def _is_given(self, array: Value) -> bool:
        """Is it a parameter, or a part of one?"""
        maker = self._makers.get(array)
        return array in self.kernel.params if maker is None else maker.name == "extract"

    def _form(self, value: Value) -> _Form | None:
        if value not in self._known:
            self._known[value] = None  # what depends on itself, through a loop, has no form
            self._known[value] = self._made(value)
        return self._known[value]

    def _made(self, value: Value) -> _Form | None:
        op = self._makers.get(value)
        if op is None:  # a parameter, or what a region is given
            return {value: 1} if value in self.kernel.params else None
        if op.name == "tid":
            axis = op.attrs["axis"]
            assert isinstance(axis, int)
            return {axis: 1}
        if op.name in _SIGNS:
            parts = [self._form(v) for v in op.operands]
            if None not in parts:
                return _sum(parts, _SIGNS[op.name])
        return {value: 1} if self._is_shared(op) else None

    def _is_shared(self, op: Op) -> bool:
        """Is the result the same for all threads, whenever it is computed?"""
        if not is_pure(op) or op.name in _OF_A_THREAD:
            return False
        for v in op.operands:
            if isinstance(v.type, Array):
                if not self._is_given(v):
                    return False
                continue  # only its extents and strides are asked for
            form = self._form(v)
            if form is None or any(isinstance(key, int) for key in form):
                return False
        return True


def _sum(parts: list[_Form | None], signs: tuple[int, int]) -> _Form:
    total: dict[_Key, int] = {}
    for part, sign in zip(parts, signs, strict=True):
        assert part is not None
        for key, count in part.items():
            total[key] = total.get(key, 0) + sign * count
    return {key: count for key, count in total.items() if count}
