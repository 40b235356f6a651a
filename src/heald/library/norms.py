"""Norms of vectors other than the Euclidean length, and what is made with them."""

from heald.library.arithmetic import abs
from heald.library.language import Float, Full, Half, N, Vec, float32, m, static
from heald.library.registry import Interval, Scaled, builtin
from heald.library.vector import dot, length

GROUP = "Vector math"


@builtin(group=GROUP, accuracy=Scaled(8))
def norm_l1(v: Vec(Float, N)) -> Float:
    """The sum of the absolute values of the components.

    >>> wp.norm_l1(wp.vec2(3.0, -4.0))
    7.0
    """
    total = abs(v[0])
    for i in static(range(1, len(v))):
        total = total + abs(v[i])
    return total


@builtin(group=GROUP, accuracy=Scaled(4))
def norm_l2(v: Vec(Float, N)) -> Float:
    """The Euclidean length: :func:`length`.

    >>> wp.norm_l2(wp.vec2(3.0, -4.0))
    5.0
    """
    return length(v)


@builtin(group=GROUP, accuracy=Scaled(8), domain={"delta": Interval(0, 4)})
def norm_huber(v: Vec(Full, N), delta: Full = 1.0) -> Full:
    """Huber's loss of the length: ``|v|² / 2`` up to ``delta``, ``delta (|v| - delta / 2)`` above.

    Of a negative ``delta`` the border is its magnitude, and what lies above it is negative.  16-bit
    floats are computed in float32.

    >>> wp.norm_huber(wp.vec2(3.0, 4.0), 2.0)
    8.0
    """
    square = dot(v, v)
    size = m.fsqrt(square)
    near = m.fmul(square, 0.5)
    return m.select(square <= delta * delta, near, m.fmul(delta, size - m.fmul(delta, 0.5)))


@builtin(group=GROUP, accuracy=Scaled(1), domain={"delta": Interval(0, 4)})
def norm_huber(v: Vec(Half, N), delta: Half = 1.0) -> Half:
    return type(delta)(norm_huber(static(Vec(float32, len(v)))(v), float32(delta)))


@builtin(group=GROUP, accuracy=Scaled(8), domain={"delta": Interval(0, 4)})
def norm_pseudo_huber(v: Vec(Full, N), delta: Full = 1.0) -> Full:
    """The smooth norm ``delta sqrt(1 + |v|² / delta²)``, computed as ``sqrt(delta² + |v|²)``.

    So it is the length where ``delta`` is 0; it has the sign of ``delta``.  Squares overflow and
    underflow as those of :func:`length`.  16-bit floats are computed in float32.

    >>> wp.norm_pseudo_huber(wp.vec2(0.0, 4.0), 3.0)
    5.0
    """
    square = m.fmul(delta, delta)
    return m.copysign(m.fsqrt(square + dot(v, v)), delta)


@builtin(group=GROUP, accuracy=Scaled(1), domain={"delta": Interval(0, 4)})
def norm_pseudo_huber(v: Vec(Half, N), delta: Half = 1.0) -> Half:
    return type(delta)(norm_pseudo_huber(static(Vec(float32, len(v)))(v), float32(delta)))


@builtin(group=GROUP, accuracy=Scaled(8), domain={"delta": Interval(0.25, 4)})
def smooth_normalize(v: Vec(Full, N), delta: Full = 1.0) -> Vec(Full, N):
    """``v / norm_pseudo_huber(v, delta)``: shorter than 1, and smooth at zero.

    Where ``delta`` is 0 the zero vector gives NaN; a negative ``delta`` turns the vector round.
    16-bit floats are computed in float32.

    >>> wp.smooth_normalize(wp.vec2(0.0, 4.0), 3.0)
    vec2f([0.0, 0.8])
    """
    return v / norm_pseudo_huber(v, delta)


@builtin(group=GROUP, accuracy=Scaled(1), domain={"delta": Interval(0.25, 4)})
def smooth_normalize(v: Vec(Half, N), delta: Half = 1.0) -> Vec(Half, N):
    return type(v)(smooth_normalize(static(Vec(float32, len(v)))(v), float32(delta)))
