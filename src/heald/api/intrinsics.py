"""Names that only mean something inside kernels; on the host they say so."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from heald.api.tables import Table
from heald.diagnostics import Diagnostic, LaunchError
from heald.frontend import intrinsic

_Value = TypeVar("_Value")


def kernels_only(name: str) -> LaunchError:
    """The error of a call from the host."""
    return LaunchError(Diagnostic("H0713", f"wp.{name}() can be called in kernels only"))


@intrinsic("static")
def static(expression: _Value) -> _Value:
    """``expression``, evaluated by Python when the kernel is compiled.

    It sees captured names and what is known at compile time.  ``for i in wp.static(range(n))`` is
    unrolled. On the host it is its argument.
    """
    return expression


def constant(value: Any) -> Any:
    """Marks what kernels capture.

    Args:
        value: a number, vector or struct, which is given back: kernels compile it in.  A struct
            type, given back too: it annotates a parameter that is passed by value.  A numpy array:
            it becomes a :class:`Table`, whose shape and type are compiled in and whose contents can
            be assigned anew.

    Raises:
        LaunchError: an array of a type, or with dimensions, that kernels do not have (H0711).
    """
    return Table(value) if isinstance(value, np.ndarray) else value


@intrinsic("tid")
def tid() -> Any:
    """The index of this thread: ``i = wp.tid()``, ``i, j = wp.tid()`` up to four dimensions.

    int32; int64 where a launch dim or an array extent reaches 2^31.
    """
    raise kernels_only("tid")


@intrinsic("block_dim")
def block_dim() -> int:
    """Threads of a block, int32."""
    raise kernels_only("block_dim")


@intrinsic("printf")
def printf(fmt: str, *args: Any) -> None:
    """C's printf with a literal format; lines come by thread, then by order within it."""
    raise kernels_only("printf")


@intrinsic("expect_eq")
def expect_eq(a: Any, b: Any) -> None:
    """An assertion that ``a == b``; of composites, that all components are equal."""
    raise kernels_only("expect_eq")


@intrinsic("expect_neq")
def expect_neq(a: Any, b: Any) -> None:
    """An assertion that ``a != b``; of composites, that some component differs."""
    raise kernels_only("expect_neq")


@intrinsic("expect_near")
def expect_near(a: Any, b: Any, tolerance: Any = 1.0e-6) -> None:
    """An assertion that ``|a - b| <= tolerance`` (float32 or float64), component by component.  NaN
    fails."""
    raise kernels_only("expect_near")


@intrinsic("assume")
def assume(condition: bool) -> None:
    """A promise to the prover that ``condition`` holds here.

    Proofs that need it are *proved under stated contracts*.  No code rests on it; with
    ``wp.config.check_contracts`` it is an assertion.
    """
    raise kernels_only("assume")


@intrinsic("requires")
def requires(condition: bool) -> None:
    """A promise that whoever launches the kernel sees to: ``wp.requires(n <= a.shape[0])``.

    To the prover it is the same as :func:`assume`; the word says whose duty it is.  With
    ``wp.config.check_contracts`` a launch that breaks it is refused before it runs, where the
    condition speaks of sizes and by-value arguments only; elsewhere it is an assertion.
    """
    raise kernels_only("requires")


@intrinsic("ensures")
def ensures(condition: bool) -> None:
    """Something that the prover has to show here: the property ``contracts``.

    No code rests on it; with ``wp.config.check_contracts`` it is an assertion.
    """
    raise kernels_only("ensures")


@intrinsic("invariant")
def invariant(condition: bool) -> None:
    """At the start of the body of a loop: what holds there in every iteration.

    The prover shows it as :func:`ensures`, and uses it for what comes after where it holds on entry
    and every iteration keeps it.
    """
    raise kernels_only("invariant")


@intrinsic("atomic_add")
def atomic_add(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] += value`` atomically; gives the old value."""
    raise kernels_only("atomic_add")


@intrinsic("atomic_sub")
def atomic_sub(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] -= value`` atomically; gives the old value."""
    raise kernels_only("atomic_sub")


@intrinsic("atomic_min")
def atomic_min(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] = min(array[i, ...], value)`` atomically; gives the old value."""
    raise kernels_only("atomic_min")


@intrinsic("atomic_max")
def atomic_max(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] = max(array[i, ...], value)`` atomically; gives the old value."""
    raise kernels_only("atomic_max")


@intrinsic("atomic_and")
def atomic_and(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] &= value`` atomically, on integers; gives the old value."""
    raise kernels_only("atomic_and")


@intrinsic("atomic_or")
def atomic_or(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] |= value`` atomically, on integers; gives the old value."""
    raise kernels_only("atomic_or")


@intrinsic("atomic_xor")
def atomic_xor(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] ^= value`` atomically, on integers; gives the old value."""
    raise kernels_only("atomic_xor")


@intrinsic("atomic_exch")
def atomic_exch(array: Any, *indices_and_value: Any) -> Any:
    """``array[i, ...] = value`` atomically; gives the old value."""
    raise kernels_only("atomic_exch")


@intrinsic("atomic_cas")
def atomic_cas(array: Any, *indices_expected_and_value: Any) -> Any:
    """Stores ``value`` where the element has the bits of ``expected``, atomically; gives the old
    value.

    ``wp.atomic_cas(array, i, ..., expected, value)``.
    """
    raise kernels_only("atomic_cas")
