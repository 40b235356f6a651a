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
        members = list(group)
        out += [tuple(members[k : k + BATCH]) for k in range(0, len(members), BATCH)]
    return out


def kernel_for(batch: Sequence[Instance]) -> Any:
    """A kernel that runs every instance on its arrays ``a<instance>_<argument>``; what it gives is
    in ``y<instance>_<output>``."""
    parameters, lines = [], ["    i = wp.tid()"]
    names: dict[str, Any] = {"wp": wp}
    for n, instance in enumerate(batch):
        arrays = {f"a{n}_{k}": t for k, t in enumerate(instance.types)}
        arrays |= {f"y{n}_{k}": t for k, t in enumerate(instance.outputs)}
        names |= {f"t_{a}": t for a, t in arrays.items()}
        parameters += [f"{a}: wp.array(dtype=t_{a})" for a in arrays]
        call = instance.call
        for k in reversed(range(len(instance.types))):
            call = call.replace(f"x{k}", f"a{n}_{k}[i]").replace(f"s{k}", f"s{n}_{k}")
        *copies, expression = call.splitlines()
        given = [f"s{n}_{k}" for k in instance.updated]
        results = [f"r{n}_{k}" for k in range(len(instance.outputs) - len(given))]
        assignment = f"{', '.join(results)} = " if results else ""
        stores = [f"y{n}_{k}[i] = {value}" for k, value in enumerate((*given, *results))]
        lines += [f"    {line}" for line in (*copies, assignment + expression, *stores)]
    text = f"@wp.kernel\ndef kernel({', '.join(parameters)}):\n" + "\n".join(lines) + "\n"
    file = f"<devices {zlib.crc32(text.encode()):x} {batch[0]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


def array(t: Type, carried: NDArray, device: str) -> Any:
    part = t if isinstance(t, Scalar) else t.dtype  # type: ignore[union-attr]
    data = to_numbers(bf16, carried) if part is bf16 else carried
    return wp.array(data, dtype=t, device=device)


def outputs_on(device: str, batch: Sequence[Instance], columns: Any, count: int) -> list[NDArray]:
    """What a kernel of the instances gives on a device, for their arguments."""
    inputs, outputs = [], []
    for instance, given in zip(batch, columns, strict=True):
        inputs += [array(t, c, device) for t, c in zip(instance.types, given, strict=True)]
        made = [wp.zeros(count, dtype=t, device=device) for t in instance.outputs]
        inputs, outputs = inputs + made, outputs + made
    wp.launch(kernel_for(batch), dim=count, inputs=inputs, device=device)
    return [_bits(y.numpy()) for y in outputs]


def compare(batch: Sequence[Instance], one: str, two: str, count: int) -> None:
    """Both devices give the same bits."""
    rng = np.random.default_rng(zlib.crc32(str(batch[0]).encode()))
    columns = [arguments(i.overload, i.types, count, rng) for i in batch]
    owners = [instance for instance in batch for _ in instance.outputs]
    found = (outputs_on(device, batch, columns, count) for device in (one, two))
    for instance, a, b in zip(owners, *found, strict=True):
        assert np.array_equal(a, b), f"{instance}: {np.count_nonzero(a != b)} differ"


@pytest.mark.cpu
@pytest.mark.parametrize("batch", batches(), ids=lambda batch: str(batch[0]))
def test_cpu_gives_the_bits_of_the_simulator(batch: tuple[Instance, ...]) -> None:
    compare(batch, "sim", "cpu", COUNT)


def test_every_builtin_is_compared_with_all_that_it_gives() -> None:
    given = {i.builtin.name: len(i.outputs) for batch in batches() for i in batch}
    assert given["svd3"] == given["svd2"] == given["transform_decompose"] == 3
    assert given["quat_to_axis_angle"] == given["qr3"] == given["eig3"] == given["randf"] == 2
    assert given["transform_set_rotation"] == given["sin"] == 1


def _bits(values: NDArray) -> NDArray:
    """The bits, all NaNs being one."""
    if values.dtype.kind != "f":
        return values
    same = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    return same.view(f"u{values.dtype.itemsize}")
