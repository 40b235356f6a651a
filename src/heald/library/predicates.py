"""Questions about floats, and choosing between values."""

from heald.library.language import Anything, C, Float, Int, Mat, N, Quat, R, Vec, bool_, m, static
from heald.library.registry import Exact, builtin

GROUP = "Scalar math"
INF = float("inf")


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.isnan")
def isnan(a: Float) -> bool_:
    """Is ``a`` not a number?  Of a vector, quaternion or matrix: is any component?

    >>> wp.isnan(1.0)
    False
    """
    return a != a


@builtin(group=GROUP, accuracy=Exact())
def isnan(a: Vec(Float, N)) -> bool_:
    y = isnan(a[0])
    for i in static(range(1, len(a))):
        y = y | isnan(a[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def isnan(a: Quat(Float)) -> bool_:
    return isnan(a[0]) | isnan(a[1]) | isnan(a[2]) | isnan(a[3])


@builtin(group=GROUP, accuracy=Exact())
def isnan(a: Mat(Float, R, C)) -> bool_:
    y = isnan(a[0, 0])
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            y = y | isnan(a[i, j])
    return y


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.isinf")
def isinf(a: Float) -> bool_:
    """Is ``a`` infinite, of either sign?  Of a vector, quaternion or matrix: is any component?

    >>> wp.isinf(1.0)
    False
    """
    return m.fabs(a) == INF


@builtin(group=GROUP, accuracy=Exact())
def isinf(a: Vec(Float, N)) -> bool_:
    y = isinf(a[0])
    for i in static(range(1, len(a))):
        y = y | isinf(a[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def isinf(a: Quat(Float)) -> bool_:
    return isinf(a[0]) | isinf(a[1]) | isinf(a[2]) | isinf(a[3])


@builtin(group=GROUP, accuracy=Exact())
def isinf(a: Mat(Float, R, C)) -> bool_:
    y = isinf(a[0, 0])
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            y = y | isinf(a[i, j])
    return y


@builtin(group=GROUP, accuracy=Exact(), reference="numpy.isfinite")
def isfinite(a: Float) -> bool_:
    """Is ``a`` neither infinite nor NaN?  Of a vector, quaternion or matrix: is every component?

    >>> wp.isfinite(1.0)
    True
    """
    return m.fabs(a) < INF


@builtin(group=GROUP, accuracy=Exact())
def isfinite(a: Vec(Float, N)) -> bool_:
    y = isfinite(a[0])
    for i in static(range(1, len(a))):
        y = y & isfinite(a[i])
    return y


@builtin(group=GROUP, accuracy=Exact())
def isfinite(a: Quat(Float)) -> bool_:
    return isfinite(a[0]) & isfinite(a[1]) & isfinite(a[2]) & isfinite(a[3])


@builtin(group=GROUP, accuracy=Exact())
def isfinite(a: Mat(Float, R, C)) -> bool_:
    y = isfinite(a[0, 0])
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            y = y & isfinite(a[i, j])
    return y


@builtin(group="Utility", accuracy=Exact())
def where(cond: bool_, value_if_true: Anything, value_if_false: Anything) -> Anything:
    """``value_if_true`` where ``cond`` is true (an integer: not zero), else ``value_if_false``.

    Both values are computed; they must be of one type, or of two that merge.

    >>> wp.where(True, 1.0, 2.0)
    1.0
    """
    return value_if_true if cond else value_if_false


@builtin(group="Utility", accuracy=Exact())
def where(cond: Int, value_if_true: Anything, value_if_false: Anything) -> Anything:
    return value_if_true if cond != 0 else value_if_false


@builtin(group="Utility", accuracy=Exact())
def select(cond: bool_, value_if_false: Anything, value_if_true: Anything) -> Anything:
    """:func:`where` with its values in the opposite order: the value for *false* comes first.

    >>> wp.select(True, 1.0, 2.0)
    2.0
    """
    return value_if_true if cond else value_if_false


@builtin(group="Utility", accuracy=Exact())
def select(cond: Int, value_if_false: Anything, value_if_true: Anything) -> Anything:
    return value_if_true if cond != 0 else value_if_false
