"""Why results differ from those of NVIDIA Warp: what ``differences.py`` puts into the page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A difference that kernels show (``test_warp.py``), in words."""

    builtins: str
    warp: str
    heald: str
    reason: str


NAN_FIRST = "as in Python: a comparison with NaN is false, so a NaN stays where it is the first one"
MEASURED = {
    "min": NAN_FIRST,
    "max": NAN_FIRST,
    "clamp": "`min(max(x, low), high)` with the `min` and `max` of this page",
    "floordiv": "as in Python, which computes the quotient from the exact remainder",
    "eig3": "residual and orthogonality within 4 epsilon of the norm, by way of float64",
    "asin": "NaN stays NaN",
    "acos": "NaN stays NaN",
    "erfc": "the subnormal number that is nearest to the result",
    "erfinv": "right for the smallest numbers, too; Warp gives 0",
    "erfcinv": "within an ulp for small arguments, too; NaN outside 0 to 2, where there is none",
}
"""By builtin: why what the run has found differs."""

BY_KERNELS = (
    Known(
        "`quat_from_matrix`, `transform_from_matrix`, `transform_decompose`",
        "may return `-q` where Heald returns `q`",
        "the largest component is computed first and is positive",
        "both documentations leave the sign open; the rotation is the same",
    ),
    Known(
        "`svd3`, `eig3`",
        "a fixed number of Jacobi rotations in the type of the matrix: errors to 6e-3 for some of "
        "rank 1",
        "residual and orthogonality within 4 epsilon of the norm, also for repeated, zero and "
        "rank-1 matrices",
        "accuracy",
    ),
    Known("`svd2`", "errors to 1e-5 for nearly singular float32 matrices", "as `svd3`", "accuracy"),
    Known(
        "`inverse` of up to 4 rows",
        "determinants that overflow or vanish give infinities, NaN or zeros",
        "rows and columns are scaled by powers of two where that could happen",
        "matrices of any size have inverses",
    ),
    Known(
        "`intersect_tri_tri`",
        "distances to a plane below the fixed number 1e-6 count as 0",
        "separating axes in float64 with a margin of rounding only",
        "no scale is built in",
    ),
    Known(
        "`poisson` from 10 on",
        "the rejection test runs in float32",
        "in float64",
        "at large rates float32 cannot tell log-probabilities apart",
    ),
    Known(
        "`poisson` of infinity",
        "never returns a meaningful number",
        "the largest uint32",
        "a defined result",
    ),
    Known(
        "`pnoise` of negative coordinates",
        "documented as unsupported",
        "periodic there, too",
        "no reason to leave them out",
    ),
    Known(
        "`quat_to_euler`",
        "loses half of the digits near gimbal lock",
        "half angles from `atan2` alone",
        "accuracy",
    ),
    Known(
        "`quat_rotate`, `quat_rotate_inv`, `quat_to_matrix`, `quat_slerp` and the transformations, "
        "of a quaternion that has not length one",
        "what its formulas make of it",
        "what Heald's make of it, which is something else",
        "neither is a rotation: normalise before",
    ),
    Known(
        "`min`, `max`, `argmin`, `argmax` of the components of a vector of which the first is NaN",
        "it is passed over",
        "it stays",
        "as for `min` and `max` of two numbers",
    ),
    Known(
        "`smoothstep` where an argument is NaN, or the edges are infinite",
        "may be 0",
        "NaN",
        "NaN stays NaN",
    ),
    Known(
        "`atomic_min`, `atomic_max` of an element that is NaN",
        "it is replaced",
        "it stays",
        "as for `min` and `max` of two numbers",
    ),
    Known(
        "`atomic_cas` of floats",
        "compares numbers on CPUs",
        "compares bits: 0 is not -0, and a NaN equals itself",
        "what every device has an instruction for",
    ),
    Known(
        "`a % b` of numbers of opposite sign",
        "has the sign of `a`",
        "has the sign of `b`",
        "as in Python; `wp.mod(a, b)` has the sign of `a` in both",
    ),
    Known(
        "`a / b` of integers",
        "truncates",
        "is refused",
        "Python divides: write `a // b` or `float(a) / float(b)`",
    ),
    Known(
        "`copysign(x, y)` of NaN with a sign bit",
        "takes the bit",
        "`y` counts as positive",
        "its sign bit is none that every device agrees on",
    ),
    Known("`-x` of 0", "0", "-0", "as in Python and IEEE 754"),
    Known(
        "`<<`, `>>` of 8 and 16 bits by as many or more",
        "shifts everything out",
        "the count is taken modulo the width, as for 32 and 64 bits",
        "the same for every width and on every device",
    ),
    Known(
        "`norm_pseudo_huber`",
        "`delta sqrt(1 + v² / delta²)`, NaN at `delta = 0`",
        "`sqrt(delta² + v²)`, which is equal and also defined there",
        "accuracy",
    ),
    Known(
        "`wp.transform()` on the host",
        "the identity, in kernels zeros",
        "zeros on both",
        "one meaning; `wp.transform_identity()` is the identity",
    ),
    Known(
        "float to integer in `cast` arguments and others",
        "C's rules",
        "saturates, NaN gives 0",
        "the same on every device",
    ),
)
"""What a run from Python does not reach."""

RETURNED = "it returns its results; the form that writes into arguments does not exist"
ARRAY_GIVEN = "of an array as a condition; arrays are always given"
LACKING = {
    "eig3": RETURNED,
    "hash_grid_query": "grids are not divided into groups",
    "matrix_from_cols": "there are signatures of one to six vectors, not of any number",
    "matrix_from_rows": "there are signatures of one to six vectors, not of any number",
    "qr3": RETURNED,
    "quat_to_axis_angle": RETURNED,
    "select": ARRAY_GIVEN,
    "svd2": RETURNED,
    "svd3": RETURNED,
    "unot": ARRAY_GIVEN,
    "where": ARRAY_GIVEN,
}
"""By builtin: why some signature of Warp does not exist."""

SIGNATURES = """\
* `quat_from_euler`, `quat_to_euler`, `quat_to_rpy`, `quat_twist...`, the norms,
  `transform_twist`, `transform_wrench` and `velocity_at_point` take every float type; in Warp they
  take float32.
* `closest_point_edge_edge`, `dense_gemm`, `dense_chol`, `dense_subs` and `dense_solve` take
  float64, too. `inverse` takes matrices of any size.
* `cw_div` and `div` take floats, as `/` does; Warp truncates quotients of integers.
  `wp.floordiv(a, b)` of vectors is the floor.
* `cast` works between numbers of one size, vectors of one length and matrices of one shape; not
  on structs.
* `wp.spatial_vector` has the fixed type float32 (`wp.spatial_vectord`: float64) and no `dtype=`.
  `wp.vector`, `wp.matrix`, `wp.quaternion` and `wp.transformation` can also be called from Python.
* `fast_math` chooses a named set of functions, on CPUs too; in Warp it is a flag of the CUDA
  compiler, which also flushes subnormal numbers to zero.
* `quat_between_vectors`, `triangle_closest_point`, `triangle_closest_point_barycentric` and the
  `dense_...` functions have names of earlier versions of Warp or of its simulation modules.
"""
