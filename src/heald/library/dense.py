"""Dense matrices in arrays, row by row, of a size known at run time: one thread does the whole."""

from heald.library.language import Arr, Full, int32, m
from heald.library.registry import Scaled, builtin

GROUP = "Linear algebra"


@builtin(group=GROUP, accuracy=Scaled(64))
def dense_gemm(
    m: int32,
    n: int32,
    p: int32,
    t1: int32,
    t2: int32,
    A: Arr(Full, 1),  # noqa: N803 - the names are NVIDIA Warp's
    B: Arr(Full, 1),  # noqa: N803
    C: Arr(Full, 1),  # noqa: N803
):
    """``C = A * B``, in kernels: ``A`` has ``m`` rows and ``p`` columns, ``B`` has ``p`` rows and
    ``n`` columns.

    Where ``t1`` is not 0, ``A`` is stored by columns; where ``t2`` is not 0, ``B`` is.  Sums run
    from the first term to the last, each term an fma.

    >>> @wp.kernel
    ... def multiply(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    ...     wp.dense_gemm(2, 1, 2, 0, 0, a, b, c)
    >>> a, b = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), wp.array([1.0, 1.0], dtype=float)
    >>> c = wp.zeros(2, dtype=float)
    >>> wp.launch(multiply, dim=1, inputs=[a, b, c])
    >>> c.numpy().tolist()
    [3.0, 7.0]
    """
    for i in range(m):
        for j in range(n):
            total = type(A).dtype(0)
            for k in range(p):
                a = A[k * m + i] if t1 != 0 else A[i * p + k]
                b = B[j * p + k] if t2 != 0 else B[k * n + j]
                total = total + a * b
            C[i * n + j] = total


@builtin(group=GROUP, accuracy=Scaled(64))
def dense_chol(n: int32, A: Arr(Full, 1), regularization: Full, L: Arr(Full, 1)):  # noqa: N803
    """The lower triangular ``L`` with ``L * transpose(L) = A`` plus ``regularization`` on its
    diagonal, in kernels, for a symmetric positive definite ``A`` of ``n`` rows.

    Of ``A`` the lower triangle is read, of ``L`` only that is written.  Where ``A`` is not positive
    definite, ``L`` has NaN (Cholesky's method; Golub and Van Loan, section 4.2).

    >>> @wp.kernel
    ... def factorise(a: wp.array(dtype=float), l: wp.array(dtype=float)):
    ...     wp.dense_chol(2, a, 0.0, l)
    >>> a, l = wp.array([4.0, 2.0, 2.0, 2.0], dtype=float), wp.zeros(4, dtype=float)
    >>> wp.launch(factorise, dim=1, inputs=[a, l])
    >>> l.numpy().tolist()
    [2.0, 0.0, 1.0, 1.0]
    """
    for j in range(n):
        s = A[n * j + j] + regularization
        for k in range(j):
            r = L[n * j + k]
            s = s - r * r
        pivot = m.fsqrt(s)
        L[n * j + j] = pivot
        for i in range(j + 1, n):
            s = A[n * i + j]
            for k in range(j):
                s = s - L[n * i + k] * L[n * j + k]
            L[n * i + j] = s / pivot


@builtin(group=GROUP, accuracy=Scaled(64))
def dense_subs(n: int32, L: Arr(Full, 1), b: Arr(Full, 1), x: Arr(Full, 1)):  # noqa: N803
    """Solve ``L * transpose(L) * x = b`` for a lower triangular ``L`` of ``n`` rows, in kernels, by
    substitution forwards and backwards.

    >>> @wp.kernel
    ... def solve(l: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float)):
    ...     wp.dense_subs(1, l, b, x)
    >>> l, b, x = (wp.array([v], dtype=float) for v in (2.0, 8.0, 0.0))
    >>> wp.launch(solve, dim=1, inputs=[l, b, x])
    >>> x.numpy().tolist()
    [2.0]
    """
    for i in range(n):
        s = b[i]
        for j in range(i):
            s = s - L[n * i + j] * x[j]
        x[i] = s / L[n * i + i]
    for k in range(n):
        i = n - 1 - k
        s = x[i]
        for j in range(i + 1, n):
            s = s - L[n * j + i] * x[j]
        x[i] = s / L[n * i + i]


@builtin(group=GROUP, accuracy=Scaled(64))
def dense_solve(
    n: int32,
    A: Arr(Full, 1),  # noqa: N803
    L: Arr(Full, 1),  # noqa: N803
    b: Arr(Full, 1),
    x: Arr(Full, 1),
):
    """Solve ``A * x = b``, in kernels, where ``L`` is what :func:`dense_chol` made of ``A``: the
    same as :func:`dense_subs`; ``A`` itself is not read.

    >>> @wp.kernel
    ... def solve(l: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float)):
    ...     wp.dense_solve(1, l, l, b, x)
    >>> l, b, x = (wp.array([v], dtype=float) for v in (2.0, 8.0, 0.0))
    >>> wp.launch(solve, dim=1, inputs=[l, b, x])
    >>> x.numpy().tolist()
    [2.0]
    """
    dense_subs(n, L, b, x)
