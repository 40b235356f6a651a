# ruff: noqa
# fmt: off
"""One small kernel for each construct of the language; its WIR is in ``expected/``.

A construct that changes its WIR shows up in the diff of exactly one file.
"""

import heald as wp


@wp.struct
class Body:
    position: wp.vec3
    velocity: wp.vec3
    mass: float


@wp.struct
class Field:
    values: wp.array(dtype=float)
    scale: float


@wp.func
def square(x: wp.Any):
    return x * x


@wp.func
def divide(a: float, b: float):
    return a / b, a - b


@wp.func
def sign(x: float):
    if x < 0.0:
        return -1
    if x > 0.0:
        return 1
    return 0


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def literals(a: wp.array(dtype=wp.float64), n: wp.array(dtype=wp.int8), flag: bool):
    a[0] = 1 + 0.5
    x = 0.1
    a[1] = a[1] * 3 + x
    n[0] = n[0] + 100
    n[1] = n[1] + 3 // -2 + flag


@wp.kernel
def promotion(b: wp.int8, i: int, l: wp.int64, u: wp.uint16, h: wp.float16, f: float,
              d: wp.float64, out: wp.array(dtype=wp.float64)):
    out[0] = b + i + l
    out[1] = u * f + d
    out[2] = h + f
    out[3] = wp.float64(l) + wp.float16(i)
    out[4] = float(d)
    out[5] = wp.float64(wp.uint8(f))


@wp.kernel
def division(n: wp.array(dtype=int), f: wp.array(dtype=float)):
    n[0] = n[0] // n[1]
    n[0] = n[0] % 4
    f[0] = f[0] / f[1]
    n[2] = n[2] ** 5


@wp.kernel
def bits(n: wp.array(dtype=int), u: wp.uint32):
    n[0] = (n[0] & 12) | ~n[1] ^ 3
    n[1] = n[1] << 3 >> n[2]
    n[2] = int(u >> 4)


@wp.kernel
def contraction(x: float, y: float, z: float, v: wp.vec2, out: wp.array(dtype=float)):
    out[0] = x * y + z
    out[1] = z - x * y
    out[2] = x * y - y * x
    p = x * y
    out[3] = p + z
    out[4] += x * y
    w = v * x + v
    out[5] = w[0]


@wp.kernel
def conditions(a: wp.array(dtype=float), n: int, x: float):
    if n > 0 and x > 0.5 or n == -3:
        a[0] = 1.0
    if 0 <= n < len(a) and a[n] > x:
        a[1] = 2.0
    a[2] = x if not n else a[n]
    a[3] = 1.0 if 0.0 < x < 1.0 else 2.0


@wp.kernel
def merges(a: wp.array(dtype=float), n: int):
    x = 1
    if n > 0:
        x = 2
        y = 0.5
    elif n < 0:
        y = 3
    else:
        return
    a[0] = float(x) + y


@wp.kernel
def for_range(a: wp.array(dtype=float), n: int, step: int):
    total = float(0.0)
    i = -1
    for i in range(n):
        total += a[i]
    for i in range(n, 0, step):
        if a[i] < 0.0:
            continue
        if a[i] > 9.0:
            break
        total = total * 0.5
    a[0] = total + float(i)


@wp.kernel
def widened_carry(a: wp.array(dtype=float), n: int):
    s = 0
    for i in range(n):
        s = s + 0.5
    a[0] = s


@wp.kernel
def while_loops(a: wp.array(dtype=int), n: int):
    while n > 1 and a[n] != 0:
        n = n // 2
    while wp.atomic_add(a, 0, 1) < 10:
        a[1] = n
    while True:
        n += 1
        if n > 100:
            break


@wp.kernel
def exits(a: wp.array(dtype=float), n: int):
    for i in range(n):
        for j in range(i):
            if a[j] > 1.0:
                return
            if a[j] > 0.5:
                break
        else_free = i
    a[0] = 1.0


@wp.kernel
def functions(a: wp.array(dtype=float), n: int):
    a[0] = square(a[0])
    a[1] = float(square(n))
    q, r = divide(a[2], 3.0)
    a[2] = q + r
    a[3] = float(sign(a[3]))


@wp.kernel
def vectors(v: wp.array(dtype=wp.vec3), m: wp.mat22, i: int, out: wp.array(dtype=float)):
    p = v[0]
    p.y = p.x + 1.0
    p[2] *= 2.0
    v[1] = p - v[0] * 0.5
    v[2].x = 4.0
    out[0] = m[1, 0] + p[i]
    out[1] = v[0][1]
    row = m[1]
    out[2] = row[0]
    p[i] = 3.0
    v[3] = p


@wp.kernel
def structs(bodies: wp.array(dtype=Body), field: Field, dt: float):
    i = wp.tid()
    b = bodies[i]
    b.position = b.position + b.velocity * dt
    bodies[i] = b
    bodies[i].mass = field.values[i] * field.scale
    bodies[i].velocity.x += dt
    fresh = Body(wp.vec3(1.0, 2.0, 3.0), mass=2.0)
    bodies[0] = fresh


@wp.kernel
def views(a: wp.array(dtype=float, ndim=3), i: int, n: int):
    plane = a[i]
    row = plane[1]
    row[2] = a[-1, 0, 0]
    line = a[:, 1, 1:n]
    line[0, 0] = a[i][1][::-1][0]


@wp.kernel
def shapes(a: wp.array(dtype=float, ndim=2), out: wp.array(dtype=int)):
    rows, cols = a.shape
    out[0] = rows * cols + a.shape[1] + len(a)
    out[1] = a.ndim
    out[2] = int(a.size)


@wp.kernel
def grid(a: wp.array(dtype=float, ndim=4)):
    i, j, k, l = wp.tid()
    a[i, j, k, l] = float(i + wp.block_dim())


@wp.kernel
def local_array(a: wp.array(dtype=float), n: int):
    stack = wp.zeros(shape=(2, 4), dtype=float)
    top = 0
    for i in range(n):
        stack[0, top] = a[i]
        top = (top + 1) % 4
    row = stack[0]
    a[0] = row[0] + row[-1]


@wp.kernel
def updates(a: wp.array(dtype=float), n: wp.array(dtype=int), v: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    a[0] += a[i]
    a[1] *= 2.0
    n[0] |= i
    n[1] //= 2
    v[0].y -= 1.0
    v[1] += wp.vec2(1.0, 2.0)
    old = wp.atomic_max(n, 2, i)
    n[3] = wp.atomic_cas(n, 4, old, 7)


@wp.kernel
def checks_and_prints(a: wp.array(dtype=float), v: wp.vec2):
    i = wp.tid()
    assert a[i] > 0.0, "positive"
    wp.expect_eq(v, wp.vec2(1.0, 2.0))
    wp.expect_near(a[i], 1.0, 0.25)
    print("value", a[i], v, i > 0)
    wp.printf("%d: %.3f\n", i, a[i])


WEIGHTS = (0.25, 0.5, 0.25)
UP = wp.vec3(0.0, 1.0, 0.0)


@wp.kernel
def known_early(a: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = float(0.0)
    for k in wp.static(range(len(WEIGHTS))):
        s += WEIGHTS[k] * a[i + k]
    if wp.static(len(WEIGHTS) > 5):
        s = 0.0
    out[i] = UP * s


@wp.kernel
def random_state(a: wp.array(dtype=float), seed: int):
    state = wp.rand_init(seed, wp.tid())
    a[0] = wp.randf(state)
    while wp.randf(state) < 0.5:
        a[1] = 1.0
    a[2] = wp.randf(state) if a[0] > 0.5 else 0.25


@wp.kernel
def declared(a: wp.array(dtype=wp.float64), n: int):
    x: wp.float64 = 1
    y: int
    y = n
    for i in range(n):
        x = x + i
    a[0] = x + y


@wp.kernel
def swaps(a: wp.array(dtype=float), n: int):
    x, y = a[0], a[1]
    for i in range(n):
        x, y = y, x + y
    a[0], a[1] = y, x
    p = q = a[2]
    a[3] = p + q


@wp.kernel
def query(grid_id: wp.uint64, points: wp.array(dtype=wp.vec3), counts: wp.array(dtype=int)):
    i = wp.tid()
    for j in wp.hash_grid_query(grid_id, points[i], 0.5):
        if j == i:
            continue
        counts[i] += 1
