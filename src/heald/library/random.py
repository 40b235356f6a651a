"""Random numbers: a hash of a 32-bit state (PCG; Jarzynski and Olano, "Hash functions for GPU
rendering", JCGT 9(3), 2020), with the sequences of NVIDIA Warp.

Every function advances the variable that is passed as ``state``.
"""

from heald.library.exponential import exp, log, pow
from heald.library.inverse_trigonometric import acos
from heald.library.language import Arr, Vec, float32, float64, int32, m, uint32
from heald.library.registry import Below, Exact, Scaled, builtin, helper
from heald.library.search import lower_bound
from heald.library.trigonometric import cos, sin

GROUP = "Random"
VEC2, VEC3 = Vec(float32, 2), Vec(float32, 3)
TWO_PI = 6.2831854820251465
THIRD = 0.3333333432674408
INF = float("inf")
HALF_LOG_TWO_PI = 0.9189385332046728
SERIES = (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
SMALLEST = 5.96e-8  # keeps the logarithm in randn finite


@helper
def _hash(state: uint32) -> uint32:
    state = state * 747796405 + 2891336453
    word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737
    return (word >> 22) ^ word


@builtin(group=GROUP, accuracy=Exact())
def rand_init(seed: int32) -> uint32:
    """A state from a seed, and an offset that sets threads apart: both are hashed.

    In kernels, functions that draw a number advance the variable that holds the state.  Python's
    numbers do not change, so on the host the same state gives the same number each time.

    >>> wp.rand_init(42)
    1223963391
    """
    return _hash(uint32(seed))


@builtin(group=GROUP, accuracy=Exact())
def rand_init(seed: int32, offset: int32) -> uint32:
    return _hash(uint32(seed) + _hash(uint32(offset)))


@builtin(group=GROUP, accuracy=Exact(), updates=("state",))
def randi(state: uint32) -> int32:
    """A random int32: of all of them, or from ``low`` up to but not including ``high``.

    The range is ``low + hash % (high - low)``, so a range that does not divide 2^32 is not quite
    even; an empty one is a division by zero, and one with ``high < low`` wraps around 2^32.

    >>> state = wp.uint32(42)
    >>> wp.randi(state, 0, 10)
    1
    """
    state = _hash(state)
    return state, int32(state)


@builtin(group=GROUP, accuracy=Exact(), updates=("state",), domain={"low": Below("high")})
def randi(state: uint32, low: int32, high: int32) -> int32:
    state = _hash(state)
    return state, int32(m.urem(state, uint32(high - low))) + low


@builtin(group=GROUP, accuracy=Exact(), updates=("state",))
def randu(state: uint32) -> uint32:
    """A random uint32: of all of them, or from ``low`` up to but not including ``high``.

    The range is ``low + hash % (high - low)``; an empty one is a division by zero.

    >>> state = wp.uint32(42)
    >>> wp.randu(state)
    1223963391
    """
    state = _hash(state)
    return state, state


@builtin(group=GROUP, accuracy=Exact(), updates=("state",), domain={"low": Below("high")})
def randu(state: uint32, low: uint32, high: uint32) -> uint32:
    state = _hash(state)
    return state, m.urem(state, high - low) + low


@builtin(group=GROUP, accuracy=Exact(), updates=("state",))
def randf(state: uint32) -> float32:
    """A random float32 from 0 up to but not including 1, a multiple of 2^-24; or from ``low`` up to
    ``high``, which rounding may reach.

    >>> state = wp.uint32(42)
    >>> wp.randf(state) < 1.0
    True
    """
    state = _hash(state)
    return state, m.fmul(float32(state >> 8), 5.960464477539063e-08)


@builtin(group=GROUP, accuracy=Scaled(2), updates=("state",))
def randf(state: uint32, low: float32, high: float32) -> float32:
    x = randf(state)
    return state, (high - low) * x + low


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def randn(state: uint32) -> float32:
    """A random float32 of the normal distribution with mean 0 and deviation 1.

    Box and Muller's transform of two uniform numbers, so the state advances twice.

    >>> state = wp.uint32(42)
    >>> wp.abs(wp.randn(state)) < 6.0
    True
    """
    u = randf(state)
    v = randf(state)
    radius = m.fsqrt(m.fmul(log(u + SMALLEST), -2.0))
    return state, radius * cos(m.fmul(v, TWO_PI))


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def sample_triangle(state: uint32) -> VEC2:
    """Barycentric coordinates (u, v) of a point evenly distributed over a triangle.

    >>> state = wp.uint32(42)
    >>> p = wp.sample_triangle(state)
    >>> p[0] + p[1] <= 1.0
    True
    """
    r = m.fsqrt(randf(state))
    v = randf(state)
    return state, VEC2(1 - r, v * r)


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def sample_unit_ring(state: uint32) -> VEC2:
    """A point evenly distributed over the circle of radius 1.

    >>> state = wp.uint32(42)
    >>> wp.length(wp.sample_unit_ring(state)) > 0.999
    True
    """
    theta = randf(state, 0.0, TWO_PI)
    return state, VEC2(cos(theta), sin(theta))


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def sample_unit_disk(state: uint32) -> VEC2:
    """A point evenly distributed over the disk of radius 1.

    >>> state = wp.uint32(42)
    >>> wp.length(wp.sample_unit_disk(state)) < 1.001
    True
    """
    r = m.fsqrt(randf(state))
    theta = randf(state, 0.0, TWO_PI)
    return state, VEC2(r * cos(theta), r * sin(theta))


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def sample_unit_sphere_surface(state: uint32) -> VEC3:
    """A point evenly distributed over the surface of the sphere of radius 1.

    >>> state = wp.uint32(42)
    >>> wp.length(wp.sample_unit_sphere_surface(state)) > 0.999
    True
    """
    phi = acos(1 - 2 * randf(state))
    theta = randf(state, 0.0, TWO_PI)
    return state, _spherical(float32(1), theta, phi)


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def sample_unit_sphere(state: uint32) -> VEC3:
    """A point evenly distributed inside the sphere of radius 1.

    >>> state = wp.uint32(42)
    >>> wp.length(wp.sample_unit_sphere(state)) < 1.001
    True
    """
    phi = acos(1 - 2 * randf(state))
    theta = randf(state, 0.0, TWO_PI)
    r = pow(randf(state), THIRD)
    return state, _spherical(r, theta, phi)


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def sample_unit_hemisphere_surface(state: uint32) -> VEC3:
    """A point evenly distributed over the half of the sphere of radius 1 where z is not negative.

    >>> state = wp.uint32(42)
    >>> wp.sample_unit_hemisphere_surface(state)[2] >= 0.0
    True
    """
    phi = acos(1 - randf(state))
    theta = randf(state, 0.0, TWO_PI)
    return state, _spherical(float32(1), theta, phi)


@builtin(group=GROUP, accuracy=Scaled(8), updates=("state",))
def sample_unit_hemisphere(state: uint32) -> VEC3:
    """A point evenly distributed inside the half of the sphere of radius 1 where z is not negative.

    >>> state = wp.uint32(42)
    >>> wp.sample_unit_hemisphere(state)[2] >= 0.0
    True
    """
    phi = acos(1 - randf(state))
    theta = randf(state, 0.0, TWO_PI)
    r = pow(randf(state), THIRD)
    return state, _spherical(r, theta, phi)


@builtin(group=GROUP, accuracy=Exact(), updates=("state",))
def sample_unit_square(state: uint32) -> VEC2:
    """A point evenly distributed over the square of side 1 around the origin.

    >>> state = wp.uint32(42)
    >>> wp.abs(wp.sample_unit_square(state)[0]) <= 0.5
    True
    """
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    return state, VEC2(x, y)


@builtin(group=GROUP, accuracy=Exact(), updates=("state",))
def sample_unit_cube(state: uint32) -> VEC3:
    """A point evenly distributed over the cube of side 1 around the origin.

    >>> state = wp.uint32(42)
    >>> wp.abs(wp.sample_unit_cube(state)[0]) <= 0.5
    True
    """
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    z = randf(state) - 0.5
    return state, VEC3(x, y, z)


@helper
def _spherical(r: float32, theta: float32, phi: float32) -> VEC3:
    """The point at distance ``r``, ``phi`` from the z axis, ``theta`` around it."""
    s = r * sin(phi)
    return VEC3(cos(theta) * s, sin(theta) * s, r * cos(phi))


# -- discrete distributions ------------------------------------------------------------------------


@builtin(group=GROUP, accuracy=Exact(), updates=("state",))
def sample_cdf(state: uint32, cdf: Arr(float32, 1)) -> int32:
    """The index of the first element of ``cdf`` that is not less than a random number from 0 up to
    1, in kernels: a bin drawn with its probability.

    ``cdf`` ascends to 1: the running sum of the probabilities.  Where the number exceeds all
    elements, the last index; 0 for an empty array.

    >>> @wp.kernel
    ... def draw(cdf: wp.array(dtype=wp.float32), bins: wp.array(dtype=wp.int32)):
    ...     state = wp.rand_init(42, wp.tid())
    ...     bins[wp.tid()] = wp.sample_cdf(state, cdf)
    >>> bins = wp.zeros(4, dtype=wp.int32)
    >>> wp.launch(draw, dim=4, inputs=[wp.array([0.0, 1.0], dtype=wp.float32), bins])
    >>> bins.numpy().tolist()
    [1, 1, 1, 1]
    """
    u = randf(state)
    return state, lower_bound(cdf, u)


@builtin(group=GROUP, accuracy=Exact(), updates=("state",))
def poisson(state: uint32, lam: float32) -> uint32:
    """A random number of the Poisson distribution with mean and variance ``lam``.

    Below 10 uniform numbers are multiplied (Knuth); from 10 on they are transformed and some
    rejected (Hörmann, "The transformed rejection method for generating Poisson random variables",
    Insurance: Mathematics and Economics 12, 1993), the test in float64.  0, negative numbers and
    NaN give 0, and 0 leaves the state as it is; infinity gives the largest uint32.

    >>> state = wp.uint32(42)
    >>> wp.poisson(state, 0.0)
    0
    """
    count = uint32(0)
    if lam == INF:
        count = uint32(0xFFFFFFFF)
    elif lam >= 10.0:
        state, count = _poisson_by_rejection(state, lam)
    elif lam != 0.0:
        limit = exp(-lam)
        product = randf(state)
        while product > limit:
            count += 1
            product = m.fmul(product, randf(state))
    return state, count


@helper
def _poisson_by_rejection(state: uint32, lam: float32):
    b = 0.931 + 2.53 * m.fsqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2.0)
    log_lam = log(float64(lam))
    k, accepted = float32(0), False
    while not accepted:
        u = randf(state) - 0.5
        v = randf(state)
        us = 0.5 - m.fabs(u)
        k = m.floor((2.0 * a / us + b) * u + lam + 0.43)
        accepted = us >= 0.07 and v <= bound
        if not accepted and k >= 0.0 and (us >= 0.013 or v <= us):
            count = float64(k)
            level = float64(v) * float64(inverse_alpha) / float64(a / (us * us) + b)
            rest = count * log_lam - float64(lam) - _log_factorial(count)
            accepted = log(level) <= rest
    return state, uint32(k)


@helper
def _log_factorial(k: float64) -> float64:
    """log(k!) for an integer from 0: a product up to 16, Stirling's series above."""
    if k < 16.0:
        product = float64(1)
        for n in range(2, int32(k) + 1):
            product = m.fmul(product, float64(n))
        return log(product)
    x = k + 1.0
    v = 1.0 / (x * x)
    series = float64(0)
    for c in SERIES:
        series = m.fma(series, v, c)
    return (x - 0.5) * log(x) - x + HALF_LOG_TWO_PI + series / x
