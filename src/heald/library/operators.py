"""The operators as functions, for code that passes functions around.

The products of matrices, quaternions and transforms are in the files of these.
"""

from heald.library.language import (
    Anything,
    C,
    Float,
    Int,
    Mat,
    N,
    Quat,
    R,
    Scalar,
    Vec,
    Xform,
    bool_,
    int32,
    m,
    reinterpreted,
    static,
)
from heald.library.registry import Exact, builtin

GROUP = "Operators"


@builtin(group=GROUP, accuracy=Exact())
def add(a: Scalar, b: Scalar) -> Scalar:
    """``a + b``; of composites of one type, component by component.

    >>> wp.add(1.0, 2.0)
    3.0
    """
    return a + b


@builtin(group=GROUP, accuracy=Exact())
def add(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    return a + b


@builtin(group=GROUP, accuracy=Exact())
def add(a: Mat(Scalar, R, C), b: Mat(Scalar, R, C)) -> Mat(Scalar, R, C):
    return a + b


@builtin(group=GROUP, accuracy=Exact())
def add(a: Quat(Float), b: Quat(Float)) -> Quat(Float):
    return a + b


@builtin(group=GROUP, accuracy=Exact())
def add(a: Xform(Float), b: Xform(Float)) -> Xform(Float):
    return a + b


@builtin(group=GROUP, accuracy=Exact())
def sub(a: Scalar, b: Scalar) -> Scalar:
    """``a - b``; of composites of one type, component by component.

    >>> wp.sub(1.0, 2.0)
    -1.0
    """
    return a - b


@builtin(group=GROUP, accuracy=Exact())
def sub(a: Vec(Scalar, N), b: Vec(Scalar, N)) -> Vec(Scalar, N):
    return a - b


@builtin(group=GROUP, accuracy=Exact())
def sub(a: Mat(Scalar, R, C), b: Mat(Scalar, R, C)) -> Mat(Scalar, R, C):
    return a - b


@builtin(group=GROUP, accuracy=Exact())
def sub(a: Quat(Float), b: Quat(Float)) -> Quat(Float):
    return a - b


@builtin(group=GROUP, accuracy=Exact())
def sub(a: Xform(Float), b: Xform(Float)) -> Xform(Float):
    return a - b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Scalar, b: Scalar) -> Scalar:
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Vec(Scalar, N), b: Scalar) -> Vec(Scalar, N):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Scalar, b: Vec(Scalar, N)) -> Vec(Scalar, N):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Mat(Scalar, R, C), b: Scalar) -> Mat(Scalar, R, C):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Scalar, b: Mat(Scalar, R, C)) -> Mat(Scalar, R, C):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Quat(Float), b: Float) -> Quat(Float):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Float, b: Quat(Float)) -> Quat(Float):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Xform(Float), b: Float) -> Xform(Float):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def mul(a: Float, b: Xform(Float)) -> Xform(Float):
    return a * b


@builtin(group=GROUP, accuracy=Exact())
def div(a: Vec(Float, N), b: Float) -> Vec(Float, N):
    return a / b


@builtin(group=GROUP, accuracy=Exact())
def div(a: Mat(Float, R, C), b: Float) -> Mat(Float, R, C):
    return a / b


@builtin(group=GROUP, accuracy=Exact())
def div(a: Quat(Float), b: Float) -> Quat(Float):
    return a / b


@builtin(group=GROUP, accuracy=Exact())
def div(a: Float, b: Quat(Float)) -> Quat(Float):
    return type(b)(a / b.x, a / b.y, a / b.z, a / b.w)


@builtin(group=GROUP, accuracy=Exact())
def neg(x: Scalar) -> Scalar:
    """``-x``; of a composite, component by component.

    >>> wp.neg(1.0)
    -1.0
    """
    return -x


@builtin(group=GROUP, accuracy=Exact())
def neg(x: Vec(Scalar, N)) -> Vec(Scalar, N):
    return -x


@builtin(group=GROUP, accuracy=Exact())
def neg(x: Mat(Scalar, R, C)) -> Mat(Scalar, R, C):
    return -x


@builtin(group=GROUP, accuracy=Exact())
def neg(x: Quat(Float)) -> Quat(Float):
    return -x


@builtin(group=GROUP, accuracy=Exact())
def unot(a: bool_) -> bool_:
    """``not a``.

    >>> wp.unot(True)
    False
    """
    return not a


@builtin(group=GROUP, accuracy=Exact())
def unot(a: Int) -> bool_:
    return a == 0


@builtin(group=GROUP, accuracy=Exact())
def bit_and(a: Int, b: Int) -> Int:
    """``a & b``; of vectors and matrices of one type, component by component.

    >>> wp.bit_and(12, 10)
    8
    """
    return a & b


@builtin(group=GROUP, accuracy=Exact())
def bit_and(a: Vec(Int, N), b: Vec(Int, N)) -> Vec(Int, N):
    return a & b


@builtin(group=GROUP, accuracy=Exact())
def bit_and(a: Mat(Int, R, C), b: Mat(Int, R, C)) -> Mat(Int, R, C):
    return a & b


@builtin(group=GROUP, accuracy=Exact())
def bit_or(a: Int, b: Int) -> Int:
    """``a | b``; of vectors and matrices of one type, component by component.

    >>> wp.bit_or(12, 10)
    14
    """
    return a | b


@builtin(group=GROUP, accuracy=Exact())
def bit_or(a: Vec(Int, N), b: Vec(Int, N)) -> Vec(Int, N):
    return a | b


@builtin(group=GROUP, accuracy=Exact())
def bit_or(a: Mat(Int, R, C), b: Mat(Int, R, C)) -> Mat(Int, R, C):
    return a | b


@builtin(group=GROUP, accuracy=Exact())
def bit_xor(a: Int, b: Int) -> Int:
    """``a ^ b``; of vectors and matrices of one type, component by component.

    >>> wp.bit_xor(12, 10)
    6
    """
    return a ^ b


@builtin(group=GROUP, accuracy=Exact())
def bit_xor(a: Vec(Int, N), b: Vec(Int, N)) -> Vec(Int, N):
    return a ^ b


@builtin(group=GROUP, accuracy=Exact())
def bit_xor(a: Mat(Int, R, C), b: Mat(Int, R, C)) -> Mat(Int, R, C):
    return a ^ b


@builtin(group=GROUP, accuracy=Exact())
def lshift(a: Int, b: Int) -> Int:
    """``a << b``; the count is taken modulo the width.  Of vectors and matrices of one type,
    component by component.

    >>> wp.lshift(3, 2)
    12
    """
    return a << b


@builtin(group=GROUP, accuracy=Exact())
def lshift(a: Vec(Int, N), b: Vec(Int, N)) -> Vec(Int, N):
    return a << b


@builtin(group=GROUP, accuracy=Exact())
def lshift(a: Mat(Int, R, C), b: Mat(Int, R, C)) -> Mat(Int, R, C):
    return a << b


@builtin(group=GROUP, accuracy=Exact())
def rshift(a: Int, b: Int) -> Int:
    """``a >> b``, keeping the sign of signed integers; the count is taken modulo the width.  Of
    vectors and matrices of one type, component by component.

    >>> wp.rshift(-12, 2)
    -3
    """
    return a >> b


@builtin(group=GROUP, accuracy=Exact())
def rshift(a: Vec(Int, N), b: Vec(Int, N)) -> Vec(Int, N):
    return a >> b


@builtin(group=GROUP, accuracy=Exact())
def rshift(a: Mat(Int, R, C), b: Mat(Int, R, C)) -> Mat(Int, R, C):
    return a >> b


@builtin(group=GROUP, accuracy=Exact())
def invert(a: Int) -> Int:
    """``~a``: every bit flipped, of vectors and matrices in every component.

    >>> wp.invert(0)
    -1
    """
    return ~a


@builtin(group=GROUP, accuracy=Exact())
def invert(a: Vec(Int, N)) -> Vec(Int, N):
    return ~a


@builtin(group=GROUP, accuracy=Exact())
def invert(a: Mat(Int, R, C)) -> Mat(Int, R, C):
    return ~a


@builtin(group=GROUP, accuracy=Exact())
def bit_count(x: Int) -> int32:
    """The number of ones in the two's complement of ``x``: of its own width, unlike Python's
    ``int.bit_count``, which counts those of the absolute value.

    >>> wp.bit_count(-1)
    32
    """
    return int32(m.popcount(x))


@builtin(group=GROUP, accuracy=Exact())
def cast(a: Scalar, dtype) -> Anything:
    """The bits of ``a`` read as the type ``dtype`` of the same size.

    Vectors become vectors of equal length and matrices matrices of equal shape, component by
    component.  In kernels ``dtype`` is known at compile time.

    >>> wp.cast(wp.float32(1.0), wp.int32)
    1065353216
    """
    source = type(a)
    return m.bitcast(a, static(reinterpreted(source, dtype)))


@builtin(group=GROUP, accuracy=Exact())
def cast(a: Vec(Scalar, N), dtype) -> Anything:
    source = type(a)
    y = static(reinterpreted(source, dtype))()
    component = type(y).dtype
    for i in static(range(len(a))):
        y[i] = m.bitcast(a[i], component)
    return y


@builtin(group=GROUP, accuracy=Exact())
def cast(a: Mat(Scalar, R, C), dtype) -> Anything:
    source = type(a)
    y = static(reinterpreted(source, dtype))()
    component = type(y).dtype
    for i in static(range(type(a).rows)):
        for j in static(range(type(a).cols)):
            y[i, j] = m.bitcast(a[i, j], component)
    return y
