"""Compiled code gives the bits of the simulator, for every builtin and dtype."""

import linecache
import zlib
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.instances import Instance, instances
from library.samples import arguments, to_numbers

import heald as wp
from heald.types import Scalar, Type, bf16

NDArray = npt.NDArray[Any]
COUNT = 200
BATCH = 12
ONE_OF_EACH = {"N": (3,), "R": (2,), "C": (3,), "K": (4,)}


def batches() -> list[tuple[Instance, ...]]:
    """A few instances of one builtin share a kernel, which compiles faster than many kernels."""
    out = []
    for _, group in groupby(instances(ONE_OF_EACH), lambda i: i.builtin.name):
        members = [i for i in group if i.result is not None]
        out += [tuple(members[k : k + BATCH]) for k in range(0, len(members), BATCH)]
    return out


def kernel_for(batch: Sequence[Instance]) -> Any:
    """A kernel that runs every instance on its arrays ``a<instance>_<argument>``."""
    parameters, lines = [], ["    i = wp.tid()"]
    names: dict[str, Any] = {"wp": wp}
    for n, instance in enumerate(batch):
        for k, t in enumerate((*instance.types, instance.result)):
            names[f"t{n}_{k}"] = t
            array = f"a{n}_{k}" if k < len(instance.types) else f"y{n}"
            parameters.append(f"{array}: wp.array(dtype=t{n}_{k})")
        call = instance.call
        for k in reversed(range(len(instance.types))):
            call = call.replace(f"x{k}", f"a{n}_{k}[i]").replace(f"s{k}", f"s{n}_{k}")
        *copies, expression = call.splitlines()
        lines += [f"    {line}" for line in (*copies, f"y{n}[i] = {expression}")]
    text = f"@wp.kernel\ndef kernel({', '.join(parameters)}):\n" + "\n".join(lines) + "\n"
    file = f"<devices {zlib.crc32(text.encode()):x} {batch[0]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


def array(t: Type, carried: NDArray, device: str) -> Any:
    part = t if isinstance(t, Scalar) else t.dtype  # type: ignore[union-attr]
    data = to_numbers(bf16, carried) if part is bf16 else carried
    return wp.array(data, dtype=t, device=device)


@pytest.mark.cpu
@pytest.mark.parametrize("batch", batches(), ids=lambda batch: str(batch[0]))
def test_cpu_gives_the_bits_of_the_simulator(batch: tuple[Instance, ...]) -> None:
    rng = np.random.default_rng(zlib.crc32(str(batch[0]).encode()))
    columns = [arguments(i.overload, i.types, COUNT, rng) for i in batch]
    kernel = kernel_for(batch)
    results: dict[str, list[NDArray]] = {}
    for device in ("sim", "cpu"):
        inputs, outputs = [], []
        for instance, given in zip(batch, columns, strict=True):
            inputs += [array(t, c, device) for t, c in zip(instance.types, given, strict=True)]
            outputs.append(wp.zeros(COUNT, dtype=instance.result, device=device))
            inputs.append(outputs[-1])
        wp.launch(kernel, dim=COUNT, inputs=inputs, device=device)
        results[device] = [y.numpy() for y in outputs]
    for instance, simulated, compiled in zip(batch, results["sim"], results["cpu"], strict=True):
        equal = np.array_equal(_bits(simulated), _bits(compiled))
        assert equal, f"{instance}: {np.count_nonzero(_bits(simulated) != _bits(compiled))} differ"


def _bits(values: NDArray) -> NDArray:
    """The bits, all NaNs being one."""
    if values.dtype.kind != "f":
        return values
    same = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    return same.view(f"u{values.dtype.itemsize}")
