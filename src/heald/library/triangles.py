"""Distances and intersections of edges and triangles that are given by their corners."""

from heald.library.arithmetic import clamp, max, min
from heald.library.language import Full, Vec, bool_, float64, int32, m
from heald.library.registry import Scaled, builtin, helper
from heald.library.vector import cross, dot, length

GROUP = "Geometric functions"
WIDE = Vec(float64, 3)


# -- edges -----------------------------------------------------------------------------------------


@helper
def _difference(a: Full, b: Full, c: Full, d: Full) -> Full:
    """``a * b - c * d`` with an error of a few roundings of the result (Kahan)."""
    product = m.fmul(c, d)
    return m.fma(a, b, -product) + m.fma(-c, d, product)


@builtin(group=GROUP, accuracy=Scaled(64))
def closest_point_edge_edge(
    p1: Vec(Full, 3), q1: Vec(Full, 3), p2: Vec(Full, 3), q2: Vec(Full, 3), epsilon: Full
) -> Vec(Full, 3):
    """``(s, t, d)`` of the points nearest to each other on two edges: ``p1 + s (q1 - p1)`` and
    ``p2 + t (q2 - p2)`` at the distance ``d``.

    An edge whose squared length is at most ``epsilon`` counts as its first point, with weight 0.
    On parallel edges, one of the nearest pairs is chosen.  Products of two squared lengths must be
    normal numbers: in float32, lengths from 1e-9 to 1e9.  (Ericson, "Real-Time Collision
    Detection", section 5.1.9.)

    >>> p1, q1 = wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 0.0, 0.0)
    >>> p2, q2 = wp.vec3(0.5, 1.0, 1.0), wp.vec3(0.5, 1.0, -1.0)
    >>> wp.closest_point_edge_edge(p1, q1, p2, q2, 1.0e-6)
    vec3f([0.5, 0.5, 1.0])
    """
    d1, d2, r = q1 - p1, q2 - p2, p1 - p2
    a, e, f, c = dot(d1, d1), dot(d2, d2), dot(d2, r), dot(d1, r)
    zero, one = type(a)(0), type(a)(1)
    s, t = zero, zero
    if a > epsilon and e > epsilon:
        b = dot(d1, d2)
        across = _difference(a, e, b, b)
        if across > 0:
            s = clamp(_difference(b, f, c, e) / across, 0, 1)
        t = (b * s + f) / e
        if t < 0:
            s, t = clamp(-c / a, 0, 1), zero
        elif t > 1:
            s, t = clamp((b - c) / a, 0, 1), one
    elif a > epsilon:
        s = clamp(-c / a, 0, 1)
    elif e > epsilon:
        t = clamp(f / e, 0, 1)
    return type(p1)(s, t, length((p1 + d1 * s) - (p2 + d2 * t)))


# -- point and triangle --------------------------------------------------------------------------


@helper
def _on_edge(a: Vec(Full, 3), b: Vec(Full, 3), p: Vec(Full, 3)):
    """The weight of ``b`` at the point of an edge that is nearest to ``p``, and the square of its
    distance."""
    along, to = b - a, p - a
    size = dot(along, along)
    t = clamp(dot(to, along) / m.select(size > 0, size, type(size)(1)), 0, 1)
    rest = to - along * t
    return t, dot(rest, rest)


@builtin(group=GROUP, accuracy=Scaled(64))
def triangle_closest_point_barycentric(
    a: Vec(Full, 3), b: Vec(Full, 3), c: Vec(Full, 3), p: Vec(Full, 3)
) -> Vec(Full, 3):
    """Weights (u, v, w) of the corners at the point of a triangle that is nearest to ``p``: it is
    ``u a + v b + w c``.

    They are not negative and sum to 1.  Triangles that are edges or points are treated as such.
    Products of two squared lengths must be normal numbers: in float32, lengths from 1e-9 to 1e9.

    >>> a, b, c = wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    >>> wp.triangle_closest_point_barycentric(a, b, c, wp.vec3(0.25, 0.5, 3.0))
    vec3f([0.25, 0.25, 0.5])
    """
    ab, ac, ap = b - a, c - a, p - a
    normal = cross(ab, ac)
    size = dot(normal, normal)
    divisor = m.select(size > 0, size, type(size)(1))
    v, w = dot(cross(ap, ac), normal) / divisor, dot(cross(ab, ap), normal) / divisor
    u = 1 - v - w
    if not (size > 0 and u >= 0 and v >= 0 and w >= 0):
        t, best = _on_edge(a, b, p)
        u, v, w = 1 - t, t, type(t)(0)
        t, distance = _on_edge(b, c, p)
        if distance < best:
            best = distance
            u, v, w = type(t)(0), 1 - t, t
        t, distance = _on_edge(c, a, p)
        if distance < best:
            u, v, w = t, type(t)(0), 1 - t
    return type(p)(u, v, w)


@builtin(group=GROUP, accuracy=Scaled(64))
def triangle_closest_point(
    a: Vec(Full, 3), b: Vec(Full, 3), c: Vec(Full, 3), p: Vec(Full, 3)
) -> Vec(Full, 3):
    """The point of the triangle with the corners ``a``, ``b``, ``c`` that is nearest to ``p``.

    Products of two squared lengths must be normal numbers: in float32, lengths from 1e-9 to 1e9.

    >>> a, b, c = wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    >>> wp.triangle_closest_point(a, b, c, wp.vec3(0.25, 0.5, 3.0))
    vec3f([0.25, 0.5, 0.0])
    """
    weights = triangle_closest_point_barycentric(a, b, c, p)
    return (a * weights[0] + b * weights[1]) + c * weights[2]


# -- two triangles -------------------------------------------------------------------------------


@helper
def _separates(axis: WIDE, b: WIDE, c: WIDE, d: WIDE, e: WIDE, f: WIDE) -> bool_:
    """Do the triangles (0, b, c) and (d, e, f) lie apart along an axis, by more than rounding?"""
    pb, pc = dot(axis, b), dot(axis, c)
    pd, pe, pf = dot(axis, d), dot(axis, e), dot(axis, f)
    low, high = min(min(0.0, pb), pc), max(max(0.0, pb), pc)
    other_low, other_high = min(min(pd, pe), pf), max(max(pd, pe), pf)
    size = max(m.fabs(axis[0]), max(m.fabs(axis[1]), m.fabs(axis[2])))
    reach = _reach(b) + _reach(c) + _reach(d) + _reach(e) + _reach(f)
    margin = m.fmul(m.fmul(size, reach), 2.0e-15)
    return (other_low - high > margin) | (low - other_high > margin)


@helper
def _reach(v: WIDE) -> float64:
    return max(m.fabs(v[0]), max(m.fabs(v[1]), m.fabs(v[2])))


@builtin(group=GROUP, accuracy=Scaled(1))
def intersect_tri_tri(
    v0: Vec(Full, 3),
    v1: Vec(Full, 3),
    v2: Vec(Full, 3),
    u0: Vec(Full, 3),
    u1: Vec(Full, 3),
    u2: Vec(Full, 3),
) -> int32:
    """1 where the triangles ``v0 v1 v2`` and ``u0 u1 u2`` have a point in common, else 0.

    Triangles that touch, up to rounding in float64, have; so do overlapping ones in one plane.
    They lie apart only where one of 23 axes separates them: the normals, the cross products of
    edges, and those of normals and edges (Gottschalk, Lin and Manocha, "OBBTree", SIGGRAPH 1996, on
    triangles).  A triangle may be an edge or a point; where both are, the answer may be 1 though
    they lie apart.  Computed in float64; NaN gives 1.

    >>> a, b, c = wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 0.0, 0.0), wp.vec3(0.0, 2.0, 0.0)
    >>> d, e, f = wp.vec3(1.0, 1.0, -1.0), wp.vec3(1.0, 1.0, 1.0), wp.vec3(1.0, -1.0, 0.0)
    >>> wp.intersect_tri_tri(a, b, c, d, e, f)
    1
    """
    a = WIDE(v0)
    b, c = WIDE(v1) - a, WIDE(v2) - a
    d, e, f = WIDE(u0) - a, WIDE(u1) - a, WIDE(u2) - a
    edges, others = (b, c, c - b), (e - d, f - d, f - e)
    n, k = cross(b, c), cross(others[0], others[1])
    apart = _separates(n, b, c, d, e, f) | _separates(k, b, c, d, e, f)
    for x in edges:
        apart = apart | _separates(cross(n, x), b, c, d, e, f)
        apart = apart | _separates(cross(k, x), b, c, d, e, f)
        for y in others:
            apart = apart | _separates(cross(x, y), b, c, d, e, f)
    for y in others:
        apart = apart | _separates(cross(k, y), b, c, d, e, f)
        apart = apart | _separates(cross(n, y), b, c, d, e, f)
    return 0 if apart else 1
