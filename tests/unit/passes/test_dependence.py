"""What lies behind an op: operands, loops and branches around it, and what their regions give."""

from unit.frontend.harness import lower

import heald as wp
from heald.ir import walk
from heald.passes.dependence import behind

I1 = wp.array(dtype=wp.int32)


@wp.kernel
def mixed(a: I1, n: int, k: int, m: int, unused: int):
    i = wp.tid() + unused
    j = 0
    if n > 3:
        for step in range(k):
            j = j + step * m
        a[j] = 5
    a[0] = i


def test_everything_that_decides_an_access_is_behind_it():
    kernel = lower(mixed)
    first, second = [op for op in walk(kernel.body) if op.name == "store"]
    _, n, k, m, unused = kernel.params
    found = behind(kernel, [first])
    assert {n, k, m} <= found
    assert unused not in found
    assert {n, k, m}.isdisjoint(behind(kernel, [second]))
    assert unused in behind(kernel, [second])
    assert {n, k, m, unused} <= behind(kernel, [first, second])
