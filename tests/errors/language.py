# ruff: noqa
# fmt: off
"""Python that is not part of the kernel language."""

import math
import os

import heald as wp

counter = 0


def plain(x):
    return x


class Plain:
    pass


@wp.kernel
def statements(a: wp.array(dtype=float), n: int):
    try:  #~ H0101
        a[0] = 1.0
    except ValueError:
        pass
    with open("file"):  #~ H0101
        pass
    global counter  #~ H0101
    raise ValueError("no")  #~ H0101
    del n  #~ H0101
    import os  #~ H0101
    from os import path  #~ H0101

    def inner(x):  #~ H0101
        return x

    class Inner:  #~ H0101
        pass

    match n:  #~ H0101
        case 1:
            pass


@wp.kernel
def expressions(a: wp.array(dtype=float), n: int):
    x = [i for i in range(3)]  #~ H0101
    x = {i for i in range(3)}  #~ H0101
    x = {i: i for i in range(3)}  #~ H0101
    x = sum(i for i in range(3))  #~ H0101
    x = lambda y: y  #~ H0101
    x = [1.0, 2.0]  #~ H0101
    x = {"a": 1.0}  #~ H0101
    x = f"{n}"  #~ H0101
    x = (y := 1)  #~ H0101
    x = b"abc"  #~ H0101


@wp.kernel
def more_expressions(a: wp.array(dtype=float, ndim=2), n: int):
    x = 1j  #~ H0101
    x = a[..., 0]  #~ H0101
    yield n  #~ H0101
    x = n in (1, 2)  #~ H0101
    x = n is n  #~ H0101
    x = n < n is n  #~ H0101
    x = n is n is n  #~ H0101
    x = (*a, 1)  #~ H0101


@wp.kernel
async def coroutine(a: wp.array(dtype=float)):  #~ H0101
    pass


@wp.kernel
def loops(a: wp.array(dtype=float), n: int, m: int):
    for x in a:  #~ H0101
        pass
    for x in wp.vec3():  #~ H0101
        pass
    for i in range(3):
        pass
    else:
        n = 1  #~ H0101
    while n > 0:
        n -= 1
    else:
        n = 1  #~ H0101
    for k in wp.static(range(9999)):  #~ H0101
        pass


@wp.kernel
def more_loops(a: wp.array(dtype=float), n: int, m: int):
    for i, j in range(3):  #~ H0109
        pass
    for i in range(m, 0.5):  #~ H0201
        pass
    for i in range(a[0]):  #~ H0201
        pass
    for i in range(1, 2, 3, 4):  #~ H0305
        pass
    while a:  #~ H0201
        pass


@wp.kernel
def calls(a: wp.array(dtype=float), n: int):
    x = os.path.join("a", "b")  #~ H0102
    x = eval("1 + 1")  #~ H0102
    x = getattr(a, "shape")  #~ H0102
    x = plain(a[0])  #~ H0102
    x = Plain()  #~ H0102
    x = wp.launch(calls, dim=1)  #~ H0102
    x = wp.empty(3)  #~ H0102
    x = a[0](1.0)  #~ H0102
    x = os.getpid()  #~ H0102
    x = math.floor(a[0])  #~ H0102


@wp.kernel
def iterators(a: wp.array(dtype=float), n: int):
    for i, x in enumerate(a):  #~ H0102
        pass
    for i, j in zip(range(n), range(n)):  #~ H0102
        pass
    for i in reversed(range(n)):  #~ H0102
        pass
    x = range(n)  #~ H0102


FloatArray = wp.array(dtype=float)


@wp.kernel
def more_calls(a: wp.array(dtype=float), n: int):
    x = FloatArray(3)  #~ H0102
    x = round(a[0])  #~ H0102
    x = wp.max(**a)  #~ H0104
    x = wp.max(*a)  #~ H0104


@wp.func
def factorial(n: int):
    if n < 2:
        return 1
    return n * factorial(n - 1)  #~ H0103


@wp.func
def even(n: int):
    if n == 0:
        return True
    return odd(n - 1)


@wp.func
def odd(n: int):
    if n == 0:
        return False
    return even(n - 1)  #~ H0103


@wp.kernel
def recursion(a: wp.array(dtype=int)):
    a[0] = factorial(5)
    if even(4):
        a[1] = 1


@wp.func
def nest(x: wp.Any, k: wp.Any):
    return nest(wp.static(k + 1), x)  #~ H0103


@wp.kernel
def endless_template(a: wp.array(dtype=int)):
    nest(1, 2)


@wp.func
def grow(v: wp.Any):
    return grow(wp.static(wp.types.vector(length=len(v) + 1, dtype=float))())  #~ H0103


@wp.kernel
def endless_vector(a: wp.array(dtype=float)):
    a[0] = grow(wp.vec2())


@wp.kernel
def star(*arrays: wp.array(dtype=float)):  #~ H0104
    pass


@wp.kernel
def double_star(a: wp.array(dtype=float), **options: int):  #~ H0104
    pass


@wp.func
def some_path(x: float):  #~ H0110
    if x > 0.0:
        return x
    x = 2.0


@wp.func
def different(x: float):
    if x > 0.0:
        return x, 1.0
    return x  #~ H0105


@wp.func
def unmergeable(x: float):
    if x > 0.0:
        return x
    return wp.vec3()  #~ H0105


@wp.func
def array_early(a: wp.array(dtype=float), n: int):
    if n > 0:
        return a  #~ H0201
    return a  #~ H0201


@wp.kernel
def returns(a: wp.array(dtype=float)):
    x = some_path(a[0])
    p = different(a[0])
    v = unmergeable(a[0])
    b = array_early(a, 1)


@wp.kernel
def kernel_with_result(a: wp.array(dtype=float)):
    return a[0]  #~ H0105


@wp.kernel
def compile_time(a: wp.array(dtype=float), n: int):
    a[0] = wp.static(n + 1.0)  #~ H0107
    a[1] = wp.static(unknown)  #~ H0107
    a[2] = wp.static(1.0, 2.0)  #~ H0305
    t = type(wp.sin)  #~ H0107
    assert n > 0, n  #~ H0107
    wp.printf(n)  #~ H0107
    wp.printf("%s", n)  #~ H0107
    wp.printf("100%", n)  #~ H0107
    wp.printf("%d %d", n)  #~ H0206
    wp.printf("%f", n)  #~ H0201


@wp.kernel
def printing(a: wp.array(dtype=float), n: int):
    wp.printf("%1000d", n)  #~ H0107
    wp.printf("%.1000f", a[0])  #~ H0107
    wp.printf("%A", 1.0)  #~ H0107


lambda_kernel = wp.kernel(lambda a: None)  #~ H0106

wp.kernel(3)  #~ H0102

wp.func(3)  #~ H0102

wp.overload(3)  #~ H0207
