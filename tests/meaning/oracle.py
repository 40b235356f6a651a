"""Kernels run by Python itself: a second opinion on the front end.

The source is changed where Python means something else: sums become ``total`` (fma), assignments to
components make a new composite, literals take a type when they are bound, a thread that has faulted
leaves loops at their back edge.  Everything else, control flow, order of evaluation, names, calls,
short circuits, is Python's own.

Lines ``# climbs k.x float32`` and ``# returns f float64`` say types that a source does not show:
what a name climbs to where paths merge, and where the returns of a function meet.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import SimpleNamespace
from typing import Any

from meaning import values
from meaning.language import SURFACE
from meaning.rewriting import rewritten
from meaning.values import Composite, Number, Refusal, as_index, binary, cast, leaves_of, widen

from heald.types import Element, Type, as_concrete, b1, i32, i64, leaves, u32
from heald.types.convert import array_of
from heald.types.promotion import index_type

FILE = "<oracle>"
FUEL = 100_000


# -- threads ---------------------------------------------------------------------------------------


@dataclass
class Thread:
    """What one thread has of its own."""

    number: int
    index: tuple[int, ...]
    fault: tuple[str, int] | None = None
    fuel: int = FUEL

    def report(self, kind: str) -> None:
        """Keep the first fault and the line at which it came."""
        if self.fault is None:
            frame: Any = sys._getframe(1)
            while frame.f_code.co_filename != FILE:
                frame = frame.f_back
            self.fault = (kind, frame.f_lineno)


@dataclass
class Arr:
    """An array: a list of elements, shared by its views, and where they are."""

    t: Element
    cells: list[Any]
    offset: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    is_local: bool = False

    @property
    def ndim(self) -> int:
        return len(self.extents)

    @property
    def shape(self) -> tuple[Number, ...]:
        """Extents as kernels see them."""
        return tuple(bind(n) for n in self.extents)

    def position(self, index: Sequence[Any]) -> int | None:
        """The cell of an element, None (and a fault) outside."""
        where = self.offset
        for x, extent, stride in zip(index, self.extents, self.strides, strict=True):
            k = as_index(x)
            if not isinstance(x, Number) and k < 0:
                k += extent
            if not 0 <= k < extent:
                values.fault("BOUNDS")
                return None
            where += k * stride
        return where

    def __getitem__(self, index: Any) -> Any:
        given = index if isinstance(index, tuple) else (index,)
        if len(given) == self.ndim and not any(isinstance(x, slice) for x in given):
            where = self.position(given)
            return values.zero(self.t) if where is None else self.cells[where]
        return self.view(given)

    def view(self, given: Sequence[Any]) -> Arr:
        """Fewer indices than dimensions, or slices."""
        offset, shape, strides, good = self.offset, [], [], True
        for axis, (extent, stride) in enumerate(zip(self.extents, self.strides, strict=True)):
            x = given[axis] if axis < len(given) else slice(None)
            if isinstance(x, slice):
                parts = [None if v is None else as_index(v) for v in (x.start, x.stop, x.step)]
                runtime = [v for v in (x.start, x.stop) if isinstance(v, Number)]
                good &= all(as_index(v) >= 0 for v in runtime)
                chosen = range(extent)[slice(*parts)]
                offset += chosen.start * stride
                shape.append(len(chosen))
                strides.append(chosen.step * stride)
                continue
            k = as_index(x)
            if not isinstance(x, Number) and k < 0:
                k += extent
            good &= 0 <= k < extent
            offset += k * stride
        if not good:
            values.fault("BOUNDS")
            shape = [0] * len(shape)
        return Arr(self.t, self.cells, offset, tuple(shape), tuple(strides), self.is_local)


def new_array(t: Element, shape: tuple[int, ...]) -> Arr:
    """Zeros, row-major."""
    strides = tuple(prod(shape[k + 1 :]) for k in range(len(shape)))
    return Arr(t, [values.zero(t) for _ in range(prod(shape))], 0, shape, strides, is_local=True)


# -- assignment ------------------------------------------------------------------------------------

Steps = Sequence[str | tuple[Any]]
"""The path behind a name: ``"x"`` for ``.x``, ``(index,)`` for ``[index]``."""


def _descend(root: Any, steps: Steps) -> tuple[Any, Any, Steps]:
    """The array and indices at which a path leaves locals, and what follows; or no array."""
    steps = list(steps)
    if isinstance(root, Composite):  # a struct that holds arrays
        inner, rest = root, list(steps)
        while isinstance(inner, Composite) and rest and isinstance(rest[0], str):
            inner = getattr(inner, rest.pop(0))
        if isinstance(inner, Arr):
            root, steps = inner, rest
    while isinstance(root, Arr) and steps:
        (index,) = steps.pop(0)
        given = index if isinstance(index, tuple) else (index,)
        if len(given) == root.ndim and not any(isinstance(x, slice) for x in given):
            return root, root.position(given), steps
        root = root.view(given)
    if isinstance(root, Arr):
        raise Refusal("a whole array")
    return None, root, steps


def _leaves_at(t: Type, steps: Steps) -> tuple[Type, tuple[int, ...]] | None:
    """Type and leaves of a part; None where a component index is outside."""
    positions = tuple(range(len(leaves(t))))
    for step in steps:
        if isinstance(step, str):
            found: Any = values.part_named(t, step)
        else:
            found = values.component_place(t, step[0])
        if found is None:
            return None
        t, inner = found
        positions = tuple(positions[k] for k in inner)
    return t, positions


def _replaced(old: Any, steps: Steps, value: Any) -> Any:
    t = old.t
    found = _leaves_at(t, steps)
    if found is None:
        values.fault("BOUNDS")
        return old
    own, positions = found
    value = widen(value, own)
    return value if own is t else old.with_leaves(positions, value)


def assign(root: Any, steps: Steps, value: Any) -> Any:
    """``root.steps = value``; gives the new meaning of the root name."""
    array, where, rest = _descend(root, steps)
    if array is None:
        return _replaced(where, rest, value)
    if where is not None:
        array.cells[where] = _replaced(array.cells[where], rest, value)
    else:
        found = _leaves_at(array.t, rest)
        if found is not None:
            widen(value, found[0])
    return root


def update(
    root: Any, steps: Steps, symbol: str, right: Callable[[], Any], total: Callable[..., Any]
) -> Any:
    """``root.steps symbol= right()``; a product on the right comes as a tuple."""
    array, where, rest = _descend(root, steps)
    atomic = array is not None and not array.is_local and symbol in "+-&|^"
    early = right() if atomic else None  # an atomic reads when it writes
    old = where if array is None else values.zero(array.t)
    if array is not None and where is not None:
        old = array.cells[where]
    found = _leaves_at(old.t, rest)
    if found is None:
        values.fault("BOUNDS")
        current: Any = Number(values.component_type(old.t), 0)
    else:
        current = _part(old, *found)
    value = early if atomic else right()
    if array is not None:
        value = binary("*", *value) if isinstance(value, tuple) else value
        if atomic:
            value = widen(value, current.t)
        new = binary(symbol, current, value)
    elif isinstance(value, tuple):
        new = total(symbol, value, current, product_right=True)
    else:
        new = binary(symbol, current, value)
    if found is None:
        return root
    own, positions = found
    new = widen(new, own)
    changed = new if own is old.t else old.with_leaves(positions, new)
    if array is None:
        return changed
    if where is not None:
        array.cells[where] = changed
    return root


def _part(old: Any, t: Type, positions: tuple[int, ...]) -> Any:
    return old if t is old.t else values.take(old, t, positions)


def bind(value: Any) -> Any:
    """What a name holds after ``name = value``: literals take their type."""
    if isinstance(value, (bool, int, float)):
        return values.from_literal(value, values.default_type(value))
    if isinstance(value, tuple):
        return tuple(bind(v) for v in value)
    return value


def unpack(value: Any, count: int) -> tuple[Any, ...]:
    """The items of a tuple or of a vector."""
    items = leaves_of(value) if isinstance(value, Composite) else value
    if len(items) != count:
        raise Refusal("count")
    return tuple(items)


# -- running ---------------------------------------------------------------------------------------


class Maker:
    """A type as it is called in a kernel."""

    def __init__(self, t: Type) -> None:
        self.t = t
        self.__heald_type__ = t

    def __call__(self, *args: Any, **named: Any) -> Any:
        return values.construct(self.t, args, named)


class World:
    """One launch: the namespace of the changed source and the thread that runs."""

    def __init__(self, text: str, constants: Mapping[str, Any], *, strict: bool) -> None:
        self.strict = strict
        self.thread = Thread(0, (0,))
        self.returns = {
            f: SURFACE_TYPES[t] for f, t in re.findall(r"^# returns (\w+) (\w+)$", text, re.M)
        }
        self.names: dict[str, Any] = {**constants, **self._namespace()}
        exec(compile(rewritten(text, FILE), FILE, "exec", dont_inherit=True), self.names)

    # -- names

    def _namespace(self) -> dict[str, Any]:
        wp: dict[str, Any] = {name: Maker(t) for name, t in SURFACE_TYPES.items()}
        wp |= {
            "array": lambda dtype, ndim=1: array_of(dtype, ndim),
            "func": self._function,
            "struct": lambda cls: Maker(SURFACE.struct(cls)),
            "static": lambda x: x,
            "constant": lambda x: x,
            "tid": self._tid,
            "zeros": lambda shape, dtype: new_array(
                _type(dtype), shape if isinstance(shape, tuple) else (shape,)
            ),
            "min": lambda *a: values.extreme("min", *a),
            "max": lambda *a: values.extreme("max", *a),
            "abs": abs,
            "randi": _random_integer,
            "dot": _dot,
            "randu": lambda s: s,
            "rand_init": lambda seed: values.hashed(cast(seed, u32)),
            "kernel": lambda f: f,
        }
        wp |= {name: _rounding(op) for name, op in _ROUNDINGS.items()}
        wp |= {f"atomic_{k}": _atomic(k) for k in _ATOMICS}
        helpers = {
            "bind": bind,
            "widen": lambda x, t: widen(x, _type(t)),
            "unpack": unpack,
            "assign": assign,
            "update": lambda *a: update(*a, total=self._total),
            "truth": bool,
            "hashed": values.hashed,
            "invert": lambda x: not x if isinstance(x, bool) else ~x,
            "second": lambda a, b: b,
            "left_product": lambda s, x, y, z: self._total(s, (x, y), z, product_right=False),
            "right_product": lambda s, z, x, y: self._total(s, (x, y), z, product_right=True),
            "static_range": range,
            "check": self._check,
            "leaves": self._leaves,
        }
        return {
            "wp": SimpleNamespace(**wp),
            "_h": SimpleNamespace(**helpers),
            "int": Maker(i32),
            "float": Maker(SURFACE_TYPES["float32"]),
            "bool": Maker(b1),
            "range": self._range,
            "len": _length,
            "print": lambda *a: None,
            "min": wp["min"],
            "max": wp["max"],
            "abs": abs,
        }

    def _total(
        self, symbol: str, product: tuple[Any, Any], other: Any, *, product_right: bool
    ) -> Any:
        if not self.strict:
            return values.total(symbol, product, other, product_right=product_right)
        value = binary("*", *product)
        return binary(symbol, *((other, value) if product_right else (value, other)))

    def _tid(self) -> Any:
        return (
            bind(self.thread.index[0])
            if len(self.thread.index) == 1
            else tuple(map(bind, self.thread.index))
        )

    def _check(self, test: Any) -> None:
        if not test:
            values.fault("ASSERT")

    def _leaves(self) -> bool:
        self.thread.fuel -= 1
        if self.thread.fuel < 0:
            raise Refusal("out of fuel")
        return self.thread.fault is not None

    def _range(self, *bounds: Any) -> Iterator[Any]:
        types = [
            index_type(b.t) if isinstance(b, Number) else i32 if -(1 << 31) <= b < 1 << 31 else i64
            for b in bounds
        ]
        t = i64 if i64 in types else i32
        lo, hi, step = 0, 0, 1
        numbers = [as_index(b) for b in bounds]
        if len(numbers) == 1:
            (hi,) = numbers
        else:
            lo, hi, *more = numbers
            step = more[0] if more else 1
        if step == 0:
            values.fault("STEP")
            return iter(())
        return (Number(t, values.wrap(t, k)) for k in range(lo, hi, step))

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        returned = self.returns.get(function.__name__)

        def call(*args: Any, **named: Any) -> Any:
            bound = signature.bind(*args, **named)
            bound.apply_defaults()
            for name, x in bound.arguments.items():
                t = _type(signature.parameters[name].annotation)
                bound.arguments[name] = x if isinstance(x, Arr) else widen(x, t)
            result = function(*bound.args, **bound.kwargs)
            if isinstance(result, tuple):
                result = bind(result)
            return result if returned is None else widen(result, returned)

        return call

    # -- threads

    def run(self, name: str, dims: Sequence[int], args: Sequence[Any]) -> list[Thread]:
        """Run every thread, in order; arrays are updated in place."""
        done = []
        for number, index in enumerate(product(*map(range, dims))):
            self.thread = Thread(number, index)
            values.reporting(self.thread.report)
            try:
                self.names[name](*args)
            finally:
                values.reporting(None)
            done.append(self.thread)
        return done


SURFACE_TYPES: dict[str, Type] = {
    name: t for name, t in vars(SURFACE).items() if isinstance(t, Type)
}
_ROUNDINGS = {
    "sqrt": "fsqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "ftrunc",
    "rint": "rint",
}
_ATOMICS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "min": "min", "max": "max"}


def _rounding(op: str) -> Callable[[Number], Number]:
    return lambda x: values.compute(op, x.t, x)


def _atomic(kind: str) -> Callable[..., Any]:
    symbol = _ATOMICS[kind]

    def run(array: Arr, *rest: Any) -> Any:
        *index, value = rest
        where = array.position(index)
        value = widen(value, array.t)
        if where is None:
            return values.zero(array.t)
        old = array.cells[where]
        new = (
            values.extreme(kind, old, value)
            if kind in ("min", "max")
            else binary(symbol, old, value)
        )
        array.cells[where] = new
        return old

    return run


def _random_integer(state: Number, *limits: Any) -> Number:
    if not limits:
        return cast(state, i32)
    low, high = (widen(x, i32) for x in limits)
    return cast(state % cast(high - low, u32), i32) + low


def _dot(a: Composite, b: Composite) -> Any:
    result = a.parts[0] * b.parts[0]
    for x, y in zip(a.parts[1:], b.parts[1:], strict=True):
        result = values.total("+", (x, y), result, product_right=True)
    return result


def _length(x: Any) -> Any:
    return x.shape[0] if isinstance(x, Arr) else len(x)


def _type(annotation: Any) -> Any:
    t = as_concrete(annotation)
    assert t is not None
    return t
