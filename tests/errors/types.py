# ruff: noqa
# fmt: off
"""Types that do not fit together."""

import heald as wp

Vec5 = wp.types.vector(length=5, dtype=wp.float32)
HUGE = 10**5000
SEED = 42


@wp.struct
class Particle:
    position: wp.vec3
    mass: float


@wp.struct
class Cloud:
    points: wp.array(dtype=wp.vec3)
    count: int


@wp.kernel
def operators(a: wp.array(dtype=float), n: int, m: wp.int64, u: wp.uint32, h: wp.float16):
    a[0] = n / 2  #~ H0108
    x = n + u  #~ H0201
    x = m * a[0]  #~ H0201
    x = n + h  #~ H0201
    x = a[0] & 1  #~ H0201
    x = (n > 0) + (n > 1)  #~ H0201
    x = (n > 0) // (n > 1)  #~ H0201
    x = ~1.5  #~ H0201
    x = -(n > 0)  #~ H0201
    x = 1 @ n  #~ H0201


@wp.kernel
def powers_and_shifts(a: wp.array(dtype=float), n: int, m: int):
    x = n**m  #~ H0201
    x = 2**n  #~ H0201
    x = n ** (-1)  #~ H0201
    x = (n > 0) ** 2  #~ H0201
    x = a[0] << 1  #~ H0201
    x = n << a[0]  #~ H0201
    x = n << 32  #~ H0202
    x = 1.5 << 2  #~ H0202
    x = 0 ** (-1)  #~ H0202
    x = (-8.0) ** 0.5  #~ H0202


@wp.kernel
def composites(a: wp.array(dtype=float), v: wp.vec3, w: wp.vec2, d: wp.float64, p: Particle):
    x = v + w  #~ H0201
    x = v + 1.0  #~ H0201
    x = v * v  #~ H0201
    x = v * d  #~ H0201
    x = a * 2.0  #~ H0201
    x = p + p  #~ H0201
    x = v < v  #~ H0201
    x = -p  #~ H0201
    x = not v  #~ H0201
    x = v**2.0  #~ H0201


@wp.kernel
def literals(a: wp.array(dtype=float), b: wp.array(dtype=wp.int8), u: wp.array(dtype=wp.uint32)):
    b[0] = b[0] + 300  #~ H0202
    b[1] = -129  #~ H0202
    u[0] = u[0] - (-1)  #~ H0202
    a[0] = a[0] + 16777217  #~ H0202
    a[1] = 1e300  #~ H0202
    x = 3000000000  #~ H0202
    a[2] = a[2] * HUGE  #~ H0202
    b[2] = 1.5  #~ H0202
    a[3] = float(HUGE)  #~ H0202
    if (b[3] > 0) & 2.5:  #~ H0201
        pass


@wp.kernel
def assignments(
    a: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    p: wp.array(dtype=Particle),
    d: wp.float64,
    n: int,
):
    a[0] = d  #~ H0205
    v[0] = wp.vec3d()  #~ H0201
    v[1] = 1.0  #~ H0201
    v[2].x = d  #~ H0205
    p[0] = 5  #~ H0201
    p[1].mass = d  #~ H0205
    a = 5.0 * d
    x, y = v[0]  #~ H0206
    x, y = n  #~ H0206
    n = a  # a new local of another type is fine


@wp.kernel
def targets(a: wp.array(dtype=float), b: wp.array(dtype=float, ndim=2), n: int, f: float, g: float):
    a += 1.0  #~ H0109
    b[0] += 1.0  #~ H0109
    b[0] = a  #~ H0109
    a.shape = 3  #~ H0109
    f[0] = 1.0  #~ H0109
    wp.pi = 3.0  #~ H0109
    *x, y = (1.0, 2.0, 3.0)  #~ H0109
    print(n)[0] = 1  #~ H0109
    g.x = 1.0  #~ H0303


@wp.kernel
def merges(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int, m: wp.int64):
    if n > 0:
        x = 1
    else:
        x = wp.vec3()
    y = x  #~ H0204
    if n > 0:
        c = a
    else:
        c = b
    a[0] = c[0]  #~ H0204
    z = a[0] if n > 0 else m  #~ H0204
    w = a if n > 0 else b  #~ H0204
    q = 1
    for i in range(n):
        q = wp.vec3()
    q2 = q  #~ H0204
    r = n or 5  #~ H0201
    if n > 0:
        s = 1.0
    else:
        s = "text"
    print(s)  #~ H0204
    f = wp.sin
    if n > 0:
        f = wp.cos
    t = f(1.0)  #~ H0204


@wp.kernel
def indices(a: wp.array(dtype=float, ndim=2), v: wp.vec3, m: wp.mat33, n: int, f: float):
    x = a[0, 1, 2]  #~ H0209
    x = a[f, 0]  #~ H0209
    x = a[True, 0]  #~ H0209
    x = v[3]  #~ H0209
    x = v[0, 0]  #~ H0209
    x = v[f]  #~ H0209
    x = m[1:, n]  #~ H0209
    x = v[n:]  #~ H0209
    x = a[::n, 0]  #~ H0209
    x = f[0]  #~ H0209


@wp.kernel
def more_indices(
    a: wp.array(dtype=float, ndim=2),
    m: wp.mat33,
    m2: wp.mat33,
    m3: wp.mat33,
    n: int,
):
    x = a.shape[2]  #~ H0209
    x = (1.0, 2.0)[n]  #~ H0209
    x = a[1.5:, 0]  #~ H0209
    x = m[n, 1.5]  #~ H0209
    m[n, 5.0] = 1.0  #~ H0209
    m2[n][0][0] = 1.0  #~ H0109
    m3[n].x = 1.0  #~ H0303


@wp.kernel
def constructors(a: wp.array(dtype=float), n: int, m: wp.int64, f: float, v: wp.vec3):
    x = wp.vec3(1.0, 2.0)  #~ H0206
    x = wp.vec3i(f, n, n)  #~ H0205
    x = wp.vec3(f, m, f)  #~ H0205
    x = wp.vec3i(1, 2.5, 3)  #~ H0202
    x = wp.mat33(v, v, v)  #~ H0206
    x = wp.quat(f, v)  #~ H0206
    x = wp.transform(v, v)  #~ H0206
    x = float(v)  #~ H0201
    x = float(f, f)  #~ H0305
    x = wp.vec3(x=1.0)  #~ H0305


@wp.kernel
def structs(a: wp.array(dtype=float), p: Particle, v: wp.vec3, c: Cloud):
    x = Particle(v, 1.0, 2.0)  #~ H0206
    x = Particle(masss=1.0)  #~ H0303
    x = Particle(v, position=v)  #~ H0303
    x = Particle(1.0)  #~ H0201
    x = Cloud(count=3)  #~ H0206
    x = Cloud(a, 3)  #~ H0201
    print(c)  #~ H0201


@wp.func
def scale(value: float, factor: float = 2.0):
    return value * factor


@wp.func
def both(a: wp.Int, b: wp.Int):
    return a + b


@wp.func
def keyword_only(a: float, /, *, b: float):
    return a + b


@wp.kernel
def arguments(a: wp.array(dtype=float), d: wp.float64, n: int, m: wp.int64, u: wp.uint32):
    x = scale()  #~ H0305
    x = scale(1.0, 2.0, 3.0)  #~ H0305
    x = scale(1.0, facter=3.0)  #~ H0305
    x = scale(1.0, value=3.0)  #~ H0305
    x = scale(d)  #~ H0203
    x = scale(scale)  #~ H0203
    x = both(n, u)  #~ H0203
    x = wp.sqrt(m)  #~ H0203
    x = wp.dot(n, n)  #~ H0203
    x = keyword_only(a=1.0, b=2.0)  #~ H0305


@wp.kernel
def builtins(a: wp.array(dtype=float), v: wp.vec3, p: Particle, n: int):
    x = len(n)  #~ H0201
    x = min(a[0], 1e300)  #~ H0202
    i, j, k, l, m = wp.tid()  #~ H0206
    print(a)  #~ H0201
    print(1.0, end="")  #~ H0305
    wp.expect_eq(1.0)  #~ H0305
    wp.expect_eq(1.0, 2.0, 3.0)  #~ H0305
    wp.expect_near(n, n, 1)  #~ H0201
    wp.expect_near(1.0, 2.0, tol=1.0)  #~ H0305
    wp.tid(0)  #~ H0305


@wp.func
def broken(x: float):
    return x + undefined  #~ H0301


@wp.kernel
def library(a: wp.array(dtype=float), states: wp.array(dtype=wp.uint32), v: wp.vec3):
    a[0] = broken(1.0)
    a[1] = broken(2.0)
    a[2] = wp.randf(states[0])  #~ H0109
    a[3] = wp.randf(SEED)  #~ H0109
    z = wp.zeros(shape=3, dtype=float)
    c = Cloud(z, 3)  #~ H0201
    x = wp.normalize(wp.vec3i())  #~ H0203
    x = wp.identity(v[0])  #~ H0203
    x = wp.cast(v, wp.vec2i)  #~ H0203


@wp.kernel
def memory(a: wp.array(dtype=float), b: wp.array(dtype=bool), m: wp.array(dtype=wp.mat22), n: int):
    z = wp.zeros(shape=n, dtype=float)  #~ H0107
    z = wp.zeros(shape=10**9, dtype=float)  #~ H0407
    z = wp.zeros(shape=3, dtype=Cloud)  #~ H0207
    a[0] &= 1.0  #~ H0201
    b[0] += True  #~ H0201
    m[0][n, 0] += 1.0  #~ H0109
    wp.atomic_add(n, 0, 1)  #~ H0203
    wp.atomic_add(a, 1.0)  #~ H0203
    wp.atomic_xor(a, 0, 1.0)  #~ H0201
    wp.expect_eq(1.0, a=2.0)  #~ H0305
