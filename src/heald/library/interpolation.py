"""Blending between values, and angle units."""

from heald.library.arithmetic import clamp
from heald.library.language import C, Float, Full, Half, Mat, N, Quat, R, Vec, Xform, float32
from heald.library.registry import Below, Scaled, Ulp, builtin

GROUP = "Interpolation"


@builtin(group=GROUP, accuracy=Scaled(2))
def lerp(a: Float, b: Float, t: Float) -> Float:
    """``a * (1 - t) + b * t``: ``a`` at 0, ``b`` at 1, on a line beyond.

    Each of the four operations is rounded.  Vectors, matrices, quaternions and transforms are
    blended component by component (a blended rotation needs :func:`normalize`, or
    :func:`quat_slerp`).

    >>> wp.lerp(2.0, 4.0, 0.25)
    2.5
    """
    return a * (1 - t) + b * t


@builtin(group=GROUP, accuracy=Scaled(2))
def lerp(a: Vec(Float, N), b: Vec(Float, N), t: Float) -> Vec(Float, N):
    return a * (1 - t) + b * t


@builtin(group=GROUP, accuracy=Scaled(2))
def lerp(a: Mat(Float, R, C), b: Mat(Float, R, C), t: Float) -> Mat(Float, R, C):
    return a * (1 - t) + b * t


@builtin(group=GROUP, accuracy=Scaled(2))
def lerp(a: Quat(Float), b: Quat(Float), t: Float) -> Quat(Float):
    return a * (1 - t) + b * t


@builtin(group=GROUP, accuracy=Scaled(2))
def lerp(a: Xform(Float), b: Xform(Float), t: Float) -> Xform(Float):
    return a * (1 - t) + b * t


@builtin(group=GROUP, accuracy=Scaled(8), domain={"a": Below("b")})
def smoothstep(a: Float, b: Float, x: Float) -> Float:
    """Cubic step: 0 at or below ``a``, 1 at or above ``b``, ``3 t² - 2 t³`` between.

    With ``a`` above ``b`` it falls from 1 at ``b`` to 0 at ``a``.  Where they are equal it is 0
    below, 1 above, and NaN there; an infinite ``a`` and NaN in ``x`` give NaN.

    >>> wp.smoothstep(0.0, 1.0, 0.5)
    0.5
    """
    t = clamp((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


@builtin(group="Scalar math", accuracy=Ulp(1.5))
def degrees(x: Full) -> Full:
    """``x`` radians in degrees.

    >>> wp.degrees(0.0)
    0.0
    """
    return x * 57.29577951308232


@builtin(group="Scalar math", accuracy=Ulp(1))
def degrees(x: Half) -> Half:
    return type(x)(degrees(float32(x)))


@builtin(group="Scalar math", accuracy=Ulp(1.5))
def radians(x: Full) -> Full:
    """``x`` degrees in radians.

    >>> wp.radians(0.0)
    0.0
    """
    return x * 0.017453292519943295


@builtin(group="Scalar math", accuracy=Ulp(1))
def radians(x: Half) -> Half:
    return type(x)(radians(float32(x)))
