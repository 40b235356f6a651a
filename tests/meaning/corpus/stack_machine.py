"""A local array as the stack of a calculator in postfix notation."""

from typing import Any

import numpy as np

import heald as wp

DIM = 40
LENGTH = 15
ADD, SUB, MUL, DUP = -1, -2, -3, -4


@wp.kernel
def kernel(
    code: wp.array(dtype=int, ndim=2), result: wp.array(dtype=int), depth: wp.array(dtype=int)
):
    i = wp.tid()
    stack = wp.zeros(shape=LENGTH, dtype=int)
    top = 0
    for k in range(code.shape[1]):
        c = code[i, k]
        if c >= 0:
            stack[top] = c
            top += 1
            continue
        if c == DUP:
            if top > 0:
                stack[top] = stack[top - 1]
                top += 1
            continue
        if top < 2:
            break
        top -= 1
        a = stack[top - 1]
        b = stack[top]
        if c == ADD:
            a += b
        elif c == SUB:
            a -= b
        else:
            a *= b
        stack[top - 1] = a
    result[i] = stack[top - 1] if top > 0 else 0
    depth[i] = top


def arguments(random: np.random.Generator) -> dict[str, Any]:
    code = np.where(
        random.random((DIM, LENGTH)) < 0.55,
        random.integers(0, 99, (DIM, LENGTH)),
        random.integers(DUP, 0, (DIM, LENGTH)),
    )
    return {
        "code": code.astype(np.int32),
        "result": np.zeros(DIM, np.int32),
        "depth": np.zeros(DIM, np.int32),
    }


def expected(code: Any, result: Any, depth: Any) -> dict[str, Any]:
    results, depths = [], []
    for row in code:
        stack: list[np.int32] = []
        for c in row:
            if c >= 0:
                stack.append(c)
            elif c == DUP:
                stack += stack[-1:]
            elif len(stack) < 2:
                break
            else:
                b, a = stack.pop(), stack.pop()
                with np.errstate(over="ignore"):
                    stack.append(a + b if c == ADD else a - b if c == SUB else a * b)
        results.append(stack[-1] if stack else 0)
        depths.append(len(stack))
    return {"result": np.array(results, np.int32), "depth": np.array(depths, np.int32)}
