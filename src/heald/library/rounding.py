"""Rounding to integers, in floating point."""

from heald.library.language import Float, m
from heald.library.registry import Exact, builtin

GROUP = "Scalar math"


@builtin(group=GROUP, accuracy=Exact())
def round(x: Float) -> Float:
    """The nearest integer; halves go away from zero, as in C and unlike Python's ``round``.

    Zeros, and results that are zero, keep the sign of ``x``; infinities and NaN stay.

    >>> wp.round(2.5)
    3.0
    """
    whole = m.ftrunc(x)
    away = whole + m.copysign(type(x)(1), x)
    return m.select(m.fabs(x - whole) >= 0.5, away, whole)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.rint")
def rint(x: Float) -> Float:
    """The nearest integer; halves go to the even one.  Zero results keep the sign of ``x``.

    >>> wp.rint(2.5)
    2.0
    """
    return m.rint(x)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.floor")
def floor(x: Float) -> Float:
    """The largest integer not above ``x``; ``-0``, infinities and NaN stay.

    >>> wp.floor(-1.5)
    -2.0
    """
    return m.floor(x)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.ceil")
def ceil(x: Float) -> Float:
    """The smallest integer not below ``x``; zero results of negative ``x`` are ``-0``.

    >>> wp.ceil(1.5)
    2.0
    """
    return m.ceil(x)


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.trunc")
def trunc(x: Float) -> Float:
    """The integer part of ``x``, towards zero; zero results keep the sign of ``x``.

    >>> wp.trunc(-1.5)
    -1.0
    """
    return m.ftrunc(x)


@builtin(group=GROUP, accuracy=Exact())
def frac(x: Float) -> Float:
    """``x - trunc(x)``, exact, with the sign of ``x``; integers give ``0``, infinities NaN.

    >>> wp.frac(-1.75)
    -0.75
    """
    return x - m.ftrunc(x)
