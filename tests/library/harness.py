"""Runs a builtin on arrays: one thread for each element, on the interpreter."""

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heald import types
from heald.frontend import intrinsic, lower_kernel
from heald.interp import ArrayView, run
from heald.ir import Kernel
from heald.library.registry import lookup
from heald.types import Array, Type, numpy_dtype


@intrinsic("tid")
def tid() -> int:
    raise AssertionError("only kernels call it")


@dataclass(frozen=True)
class Typed:
    """Elements of a type: ``data`` is a numpy array on its carriers, components on trailing
    axes."""

    type: Type
    data: Any


def kernel_of(body: str, inputs: Sequence[Type], outputs: Sequence[Type]) -> Kernel:
    """A kernel that stores the last line of ``body`` (a tuple where several values are stored).

    Lines before it are statements; ``x0``, ``x1``, ... are the elements of the inputs.
    """
    *statements, expression = body.splitlines()
    arrays = [f"a{k}" for k in range(len(inputs))] + [f"y{k}" for k in range(len(outputs))]
    lines = [f"def kernel({', '.join(arrays)}):", "    i = tid()"]
    lines += [f"    x{k} = a{k}[i]" for k in range(len(inputs))]
    lines += [f"    {statement}" for statement in statements]
    lines.append(f"    {', '.join(f'r{k}' for k in range(len(outputs)))} = {expression}")
    lines += [f"    y{k}[i] = r{k}" for k in range(len(outputs))]
    text = "\n".join(lines) + "\n"
    file = f"<builtin test {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tid": tid, "wp": Names()} | {
        t.public: t for t in types.SCALARS if t is not types.b1
    }
    exec(compile(text, file, "exec"), names)
    parameters = [Array(t, 1) for t in (*inputs, *outputs)]  # type: ignore[arg-type]
    return lower_kernel(names["kernel"], parameters, lookup)


class Names:
    """``wp`` of a test kernel: every builtin."""

    def __getattr__(self, name: str) -> Any:
        found = lookup(name)
        if found is None:
            raise AttributeError(name)
        return found


def evaluate(body: str, *inputs: Typed, results: Sequence[Type]) -> tuple[Any, ...]:
    """The values of the last line of ``body``, element by element, as arrays on the carriers of
    ``results``."""
    count = len(inputs[0].data)
    kernel = kernel_of(body, [x.type for x in inputs], results)
    views = [ArrayView.from_numpy(np.ascontiguousarray(x.data), x.type) for x in inputs]  # type: ignore[arg-type]
    outputs = [np.zeros((count, *numpy_dtype(t).shape), numpy_dtype(t).base) for t in results]
    views += [ArrayView.from_numpy(y, t) for y, t in zip(outputs, results, strict=True)]  # type: ignore[arg-type]
    outcome = run(kernel, (count,), views)
    assert not outcome.faults, outcome.faults
    return tuple(outputs)
