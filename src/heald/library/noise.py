"""Perlin's gradient noise on an integer lattice, its periodic form, and its curl (Perlin,
"Improving noise", SIGGRAPH 2002; Bridson, Hourihan and Nordenstam, "Curl-noise for procedural fluid
flow", SIGGRAPH 2007), with the fields of NVIDIA Warp.

The gradient at a lattice point is drawn by the generator of ``random`` from a hash of the point and
``state``, which is not advanced.  Between lattice points gradients are blended by the step
``6 t^5 - 15 t^4 + 10 t^3``, one axis after another.
"""

from heald.library.arithmetic import floormod
from heald.library.language import Vec, float32, int32, m, static, uint32
from heald.library.random import rand_init, randf
from heald.library.registry import Interval, Scaled, builtin, helper
from heald.library.vector import dot, normalize

GROUP = "Random"
VEC2, VEC3, VEC4 = Vec(float32, 2), Vec(float32, 3), Vec(float32, 4)
PERIOD = Interval(1, 50)
AXES = (((), 0), (((), 0), 1), ((((), 0), 1), 2), (((((), 0), 1), 2), 3))
"""For 1 to 4 axes: the axes below the last one, and the last one."""
PRIMES = (73856093, 19349663, 53471161, 10000019)


# -- one cell of the lattice ---------------------------------------------------------------------


@helper
def _lattice(x):
    """The lattice points below and above a vector, and where between them it lies."""
    low = static(Vec(int32, len(x)))()
    high, part = low, x
    for k in static(range(len(x))):
        whole = m.floor(x[k])
        low[k] = int32(whole)
        high[k] = low[k] + 1
        part[k] = x[k] - whole
    return low, high, part


@helper
def _periodic(low, high, periods):
    """The lattice points of a field that repeats."""
    for k in static(range(len(low))):
        low[k] = floormod(low[k], periods[k])
        high[k] = floormod(low[k] + 1, periods[k])
    return low, high


@helper
def _gradient(state: uint32, cell):
    """The gradient at a lattice point: from -1 to 1 on one axis, of length one on more."""
    last = len(cell) - 1
    seed = uint32(cell[last]) * uint32(PRIMES[last]) + state
    for k in static(range(len(cell) - 1)):
        seed = seed ^ (uint32(cell[k]) * uint32(PRIMES[k]))
    y = static(Vec(float32, len(cell)))()
    if len(cell) == 1:
        y[0] = randf(seed, -1.0, 1.0)
        return y
    for k in static(range(len(cell))):
        y[k] = randf(seed) - 0.5
    return normalize(y)


@helper
def _fade(t: float32) -> float32:
    cube = m.fmul(m.fmul(t, t), t)
    return m.fmul(cube, t * (t * 6 - 15) + 10)


@helper
def _fade_slope(t: float32) -> float32:
    return m.fmul(m.fmul(m.fmul(t, t), 30.0), t * (t - 2) + 1)


@helper
def _value(state: uint32, low, high, part, cell, offset, axes):
    """The field at ``part`` of a cell: blended on the last axis, of what those below it give."""
    if len(axes) == 0:
        return dot(offset, _gradient(state, cell))
    below, axis = axes
    cell[axis], offset[axis] = low[axis], part[axis]
    a = _value(state, low, high, part, cell, offset, below)
    cell[axis], offset[axis] = high[axis], part[axis] - 1
    b = _value(state, low, high, part, cell, offset, below)
    return (b - a) * _fade(part[axis]) + a


@helper
def _slope(state: uint32, low, high, part, cell, offset, axes):
    """The field and its gradient, as :func:`_value`."""
    if len(axes) == 0:
        gradient = _gradient(state, cell)
        return dot(offset, gradient), gradient
    below, axis = axes
    cell[axis], offset[axis] = low[axis], part[axis]
    a, slope_a = _slope(state, low, high, part, cell, offset, below)
    cell[axis], offset[axis] = high[axis], part[axis] - 1
    b, slope_b = _slope(state, low, high, part, cell, offset, below)
    t = _fade(part[axis])
    slope = (slope_b - slope_a) * t + slope_a
    slope[axis] = (b - a) * _fade_slope(part[axis]) + slope[axis]
    return (b - a) * t + a, slope


# -- noise -----------------------------------------------------------------------------------------


@helper
def _noise(state: uint32, x):
    low, high, part = _lattice(x)
    return _value(state, low, high, part, low, part, AXES[len(x) - 1])


@helper
def _pnoise(state: uint32, x, periods):
    low, high, part = _lattice(x)
    low, high = _periodic(low, high, periods)
    return _value(state, low, high, part, low, part, AXES[len(x) - 1])


@builtin(group=GROUP, accuracy=Scaled(16))
def noise(state: uint32, x: float32) -> float32:
    """Perlin noise at a coordinate of 1 to 4 axes: a smooth field of zeros at the lattice points,
    with features of size 1.

    ``state`` selects the field and is not advanced.  From 2^23 on, floats are lattice points
    themselves; beyond the range of int32 the field is flat.  Infinities and NaN give NaN.

    >>> wp.noise(wp.uint32(42), 3.0)
    0.0
    """
    return _noise(state, static(Vec(float32, 1))(x))


@builtin(group=GROUP, accuracy=Scaled(16))
def noise(state: uint32, xy: VEC2) -> float32:
    return _noise(state, xy)


@builtin(group=GROUP, accuracy=Scaled(16))
def noise(state: uint32, xyz: VEC3) -> float32:
    return _noise(state, xyz)


@builtin(group=GROUP, accuracy=Scaled(16))
def noise(state: uint32, xyzt: VEC4) -> float32:
    return _noise(state, xyzt)


@builtin(group=GROUP, accuracy=Scaled(16), domain={"px": PERIOD})
def pnoise(state: uint32, x: float32, px: int32) -> float32:
    """Perlin noise that repeats after ``px`` units on the first axis, ``py`` on the second, ``pz``
    and ``pt`` on the others; negative coordinates included.

    ``state`` selects the field and is not advanced.  A period of 0 is a division by zero; a
    negative one repeats after its magnitude.

    >>> state = wp.uint32(42)
    >>> wp.pnoise(state, 0.75, 4) == wp.pnoise(state, 8.75, 4)
    True
    """
    return _pnoise(state, static(Vec(float32, 1))(x), (px,))


@builtin(group=GROUP, accuracy=Scaled(16), domain={"px": PERIOD, "py": PERIOD})
def pnoise(state: uint32, xy: VEC2, px: int32, py: int32) -> float32:
    return _pnoise(state, xy, (px, py))


@builtin(group=GROUP, accuracy=Scaled(16), domain={"px": PERIOD, "py": PERIOD, "pz": PERIOD})
def pnoise(state: uint32, xyz: VEC3, px: int32, py: int32, pz: int32) -> float32:
    return _pnoise(state, xyz, (px, py, pz))


@builtin(
    group=GROUP,
    accuracy=Scaled(16),
    domain={"px": PERIOD, "py": PERIOD, "pz": PERIOD, "pt": PERIOD},
)
def pnoise(state: uint32, xyzt: VEC4, px: int32, py: int32, pz: int32, pt: int32) -> float32:
    return _pnoise(state, xyzt, (px, py, pz, pt))


# -- curl ------------------------------------------------------------------------------------------

OCTAVES = Interval(0, 4)


@helper
def _gradient_at(state: uint32, x):
    low, high, part = _lattice(x)
    _, slope = _slope(state, low, high, part, low, part, AXES[len(x) - 1])
    return slope


@builtin(group=GROUP, accuracy=Scaled(64), domain={"octaves": OCTAVES})
def curlnoise(
    state: uint32, xy: VEC2, octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> VEC2:
    """A vector field without divergence: the curl of Perlin noise, in the plane or in space, there
    also with time as the fourth coordinate.

    The field is a sum of ``octaves`` fields, of which each has ``lacunarity`` times the frequency
    and ``gain`` times the weight of the one before; their gradients are not scaled by the
    frequency.  No octaves give zeros.  ``state`` selects the field and is not advanced.

    >>> wp.length(wp.curlnoise(wp.uint32(42), wp.vec2(0.5, 0.5), wp.uint32(0)))
    0.0
    """
    total = VEC2()
    frequency, weight = float32(1), float32(1)
    for _ in range(octaves):
        total = total + _gradient_at(state, xy * frequency) * weight
        weight, frequency = m.fmul(weight, gain), m.fmul(frequency, lacunarity)
    return VEC2(-total[1], total[0])


@builtin(group=GROUP, accuracy=Scaled(64), domain={"octaves": OCTAVES})
def curlnoise(
    state: uint32, xyz: VEC3, octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> VEC3:
    return _curl(state, xyz, octaves, lacunarity, gain)


@builtin(group=GROUP, accuracy=Scaled(64), domain={"octaves": OCTAVES})
def curlnoise(
    state: uint32, xyzt: VEC4, octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> VEC3:
    return _curl(state, xyzt, octaves, lacunarity, gain)


@helper
def _curl(state: uint32, x, octaves: uint32, lacunarity: float32, gain: float32):
    """The curl of three fields, whose states follow from each other."""
    a, b, c = type(x)(), type(x)(), type(x)()
    frequency, weight = float32(1), float32(1)
    for _ in range(octaves):
        at = x * frequency
        a = a + _gradient_at(state, at) * weight
        state = rand_init(int32(state), 10019689)
        b = b + _gradient_at(state, at) * weight
        state = rand_init(int32(state), 13112221)
        c = c + _gradient_at(state, at) * weight
        weight, frequency = m.fmul(weight, gain), m.fmul(frequency, lacunarity)
    return VEC3(c[1] - b[2], a[2] - c[0], b[0] - a[1])
