"""Binary search in arrays."""

from heald.library.language import Arr, Scalar, int32
from heald.library.registry import Exact, builtin

GROUP = "Utility"


@builtin(group=GROUP, accuracy=Exact())
def lower_bound(arr: Arr(Scalar, 1), value: Scalar) -> int32:
    """The index of the first element of an ascending array that is not less than ``value``, in
    kernels.

    Where all are less it is the last index, and 0 for an empty array.  With ``arr_begin`` and
    ``arr_end`` only elements from the one up to but not including the other are looked at.  An
    array that does not ascend gives some index of the range.

    >>> @wp.kernel
    ... def find(a: wp.array(dtype=wp.float32), found: wp.array(dtype=wp.int32)):
    ...     found[0] = wp.lower_bound(a, 2.5)
    >>> found = wp.zeros(1, dtype=wp.int32)
    >>> wp.launch(find, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=wp.float32), found])
    >>> found.numpy().tolist()
    [2]
    """
    return lower_bound(arr, 0, int32(arr.shape[0]), value)


@builtin(group=GROUP, accuracy=Exact())
def lower_bound(arr: Arr(Scalar, 1), arr_begin: int32, arr_end: int32, value: Scalar) -> int32:
    lower = arr_begin
    upper = arr_end - 1
    while lower < upper:
        middle = lower + (upper - lower) // 2
        if arr[middle] < value:
            lower = middle + 1
        else:
            upper = middle
    return lower
