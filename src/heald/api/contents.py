"""``wp.config.check_contracts``: contents of arrays are looked at before and after launches.

Ordinary kernels look at them, in one pass on the device where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from heald.api.adapt import adapt_arguments, find_program
from heald.api.array import array
from heald.api.content_kernels import FIND_OUTSIDE, find_fall, find_repeated
from heald.api.creation import zeros
from heald.api.kernel import Kernel
from heald.diagnostics import Diagnostic, KernelFault, LaunchError
from heald.driver import Argument, ArrayArgument, Program, look_up
from heald.library.language import int32
from heald.runtime import Device, synchronize
from heald.types import Scalar

if TYPE_CHECKING:
    from heald.proof.contracts import ArrayPromise, Promises, Sum
    from heald.runtime.cuda import Stream

_MOST_COUNTERS = 1 << 26
_BLOCK = 256


def run_program(
    program: Program,
    device: Device,
    dims: Sequence[int],
    arguments: Sequence[Argument],
    block_dim: int,
    stream: Stream | None = None,
) -> None:
    """Launch as :meth:`Program.run`; with ``check_contracts`` look at what ``wp.requires`` says of
    sizes and arguments before, and at contents before and after.

    Raises:
        LaunchError: contents break a contract (H0412), or sizes or arguments do (H0717); nothing
            has run.
        KernelFault: a thread faulted, or contents break a contract afterwards.
        ProofError: ``safety`` is strict and something is not proved; nothing has run.
    """
    if program.requirements is not None:
        program.requirements.check(program.name, dims, arguments, block_dim)
    promises = program.promises
    if promises is None or not program.checks_contracts:
        program.run(device, dims, arguments, block_dim, stream)
        return
    program.check_shapes(dims, arguments)
    if stream is not None:
        synchronize(stream)  # what is looked at is written by then
    wrong = _broken(program, promises, dims, arguments)
    if wrong is not None:
        raise LaunchError(wrong)
    program.run(device, dims, arguments, block_dim, stream)
    if stream is not None:
        synchronize(stream)
    wrong = _broken(program, promises, dims, arguments, "after the launch")
    if wrong is not None:
        raise KernelFault(wrong)


def _broken(
    program: Program,
    promises: Promises,
    dims: Sequence[int],
    arguments: Sequence[Argument],
    when: str = "",
) -> Diagnostic | None:
    """What is wrong with the contents of the first array that breaks its contract."""
    lookup = partial(look_up, arguments, dims)

    def total(size: Sum) -> int:
        return sum(count * prod(map(lookup, product)) for product, count in size)

    for promise in promises.arrays:
        (leaf,) = arguments[promise.parameter].leaves
        assert isinstance(leaf, ArrayArgument)
        values = leaf.owner[0] if isinstance(leaf.owner, tuple) else None
        if not isinstance(values, array) or 0 in values.shape:
            continue
        ends = None
        if promise.elements is not None:
            ends = total(promise.elements.low), total(promise.elements.high)
        if _looks_wrong(values, promise, ends):
            name = program.wir.name_of(program.wir.params[promise.parameter])
            return _describe(program.name, name, values, promise, ends, when)
    return None


def _looks_wrong(values: array, promise: ArrayPromise, ends: tuple[int, int] | None) -> bool:
    where = values.device
    found = zeros(1, dtype=int32, device=where)
    if ends is not None:
        low, high = _within_words(values, ends)
        if low > high:
            return True
        _launch(FIND_OUTSIDE[values.ndim - 1], values.shape, [values, low, high, found])
    if promise.monotone:
        _launch(find_fall, values.shape, [values, found])
    if promise.injective and not found.numpy()[0]:
        if ends is None or ends[1] - ends[0] >= _MOST_COUNTERS:
            numbers = values.numpy()
            return len(np.unique(numbers)) < numbers.size
        low, high = _within_words(values, ends)
        seen = zeros(high - low + 1, dtype=int32, device=where)
        _launch(find_repeated, values.shape, [values, low, high, seen, found])
    return bool(found.numpy()[0])


def _within_words(values: array, ends: tuple[int, int]) -> tuple[int, int]:
    """Ends that 64 bits hold, and below which no unsigned number lies when it is read as signed."""
    limits = np.iinfo(np.int64)
    element = values.element_type
    least = 0 if isinstance(element, Scalar) and element.kind == "u" else int(limits.min)
    return max(ends[0], least), min(ends[1], int(limits.max))


def _launch(which: Kernel, dims: Sequence[int], inputs: Sequence[Any]) -> None:
    device = inputs[0].device
    arguments = adapt_arguments(which, inputs, device)
    program, arguments = find_program(which, arguments, dims, device)
    program.run(device, dims, arguments, _BLOCK)


def _describe(
    kernel_name: str,
    name: str,
    values: array,
    promise: ArrayPromise,
    ends: tuple[int, int] | None,
    when: str,
) -> Diagnostic:
    """The first element that is wrong, found on the host."""
    numbers = values.numpy().astype(object)
    index = next(
        (at for at in np.ndindex(numbers.shape) if _is_wrong(numbers, at, promise, ends)), None
    )
    shown = ", ".join(map(str, index or ()))
    what = f"{name}[{shown}] is {numbers[index]}" if index is not None else f"'{name}' breaks it"
    bounds = f", from {ends[0]} to {ends[1]}" if ends is not None else ""
    return Diagnostic(
        "H0412",
        f"{' '.join(filter(None, [what, when]))}, and the contract of kernel '{kernel_name}' says "
        f"{promise.text}{bounds}",
        hint="mend the contents, or the contract",
    )


def _is_wrong(
    numbers: Any, at: tuple[int, ...], promise: ArrayPromise, ends: tuple[int, int] | None
) -> bool:
    x = numbers[at]
    if ends is not None and not ends[0] <= x <= ends[1]:
        return True
    before = numbers[: at[0]]
    if promise.monotone and at[0] and x < before[-1]:
        return True
    return promise.injective and bool((before == x).any())
