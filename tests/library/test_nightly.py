"""Every float32 number through every function of one, very many pairs, and PTX of everything:
`pytest -m nightly`.

The result in float64 is that of the float64 overload, which ``test_accuracy`` compares with mpmath.
"""

import linecache
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library.test_devices import batches, kernel_for
from unit.codegen.test_nvptx import PTXAS, assemble, check_exact

import heald as wp
from heald.codegen import ptx_text
from heald.driver.choice import Choice
from heald.frontend import machine as m
from heald.library.registry import Overload, Ulp, load_topics
from heald.types import f32

pytestmark = pytest.mark.nightly
THREADS, ROUNDS = 1 << 16, 1 << 7
CHUNK = THREADS * ROUNDS
PAIRS = 1 << 28

KERNEL = """
@wp.kernel
def scan({parameters}, worst: wp.array(dtype=wp.float64), where: wp.array(dtype=int)):
    t = wp.tid()
    most = wp.float64(-1.0)
    place = int(0)
    for k in range({rounds}):
        i = k * {threads} + t
        got = wp.float64(wp.{name}({narrow}))
        exact = wp.{reference}({wide})
        if wp.abs(exact) >= OVERFLOW:
            exact = wp.copysign(INFINITY, exact)
        exponent = m.bitcast(exact, wp.int64) & EXPONENT
        unit = wp.max(m.bitcast(wp.max(exponent - OF_UNIT, wp.int64(0)), wp.float64), TINY)
        error = wp.abs(got - exact) / unit
        if got == exact or (got != got and exact != exact):
            error = wp.float64(0.0)
        if error != error:
            error = INFINITY
        if error > most:
            most = error
            place = i
    worst[t] = most
    where[t] = place
"""
NUMBERS = {
    "OVERFLOW": np.float64(3.4028235677973366e38),  # halfway from the largest float32 to 2^128
    "INFINITY": np.float64(np.inf),
    "EXPONENT": np.int64(0x7FF0000000000000),
    "OF_UNIT": np.int64(23 << 52),
    "TINY": np.float64(2.0**-149),
}


def single(count: int) -> dict[str, Overload]:
    """The functions of so many float32 numbers that promise units in the last place."""
    return {
        name: record
        for name, builtin in load_topics().items()
        for record in builtin.records
        if isinstance(record.accuracy, Ulp)
        and record.function.__code__.co_argcount == count
        and all(
            t is f32 or f32 in getattr(t, "members", ())
            for t in record.function.__annotations__.values()
        )
    }


def scanner(name: str, count: int) -> Any:
    """A kernel that looks for the largest error of its part of a chunk."""
    inputs = [f"x{k}" for k in range(count)]
    text = KERNEL.format(
        parameters=", ".join(f"{x}: wp.array(dtype=float)" for x in inputs),
        name=name,
        reference=name.removeprefix("precise_"),
        narrow=", ".join(f"{x}[i]" for x in inputs),
        wide=", ".join(f"wp.float64({x}[i])" for x in inputs),
        rounds=ROUNDS,
        threads=THREADS,
    )
    file = f"<scan of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"wp": wp, "m": m, **NUMBERS}
    exec(compile(text, file, "exec"), names)
    return names["scan"]


def check(name: str, accuracy: object, chunks: Any, count: int) -> None:
    assert isinstance(accuracy, Ulp)
    kernel, most, at = scanner(name, count), -1.0, None
    worst = wp.zeros(THREADS, dtype=wp.float64, device="cpu")
    where = wp.zeros(THREADS, dtype=int, device="cpu")
    for columns in chunks:
        arrays = [wp.array(c, device="cpu") for c in columns]
        wp.launch(kernel, dim=THREADS, inputs=[*arrays, worst, where], device="cpu")
        found = worst.numpy()
        k = int(np.argmax(found))
        if found[k] > most:
            most, at = float(found[k]), [c[where.numpy()[k]] for c in columns]
    assert most <= accuracy.units, f"{most} ulp at {at}"
    assert most > 0.25 * accuracy.units, f"{name} is never off by more than {most} ulp"


@pytest.mark.parametrize("name", single(1))
def test_every_float32(name: str) -> None:
    chunks = (
        [np.arange(start, start + CHUNK, dtype=np.uint32).view(np.float32)]
        for start in range(0, 1 << 32, CHUNK)
    )
    check(name, single(1)[name].accuracy, chunks, 1)


@pytest.mark.parametrize("name", single(2))
def test_pairs(name: str) -> None:
    """A third are any bits, the others of sizes at which results are finite."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))

    def column(kind: int) -> Any:
        if kind == 0:
            return rng.integers(0, 1 << 32, CHUNK, dtype=np.uint32, endpoint=False).view(np.float32)
        size = np.exp(rng.uniform(-8, 8, CHUNK)) if kind == 1 else rng.uniform(0, 4, CHUNK)
        return (size * rng.choice([-1.0, 1.0], CHUNK)).astype(np.float32)

    chunks = ([column(k % 3), column(k % 3)] for k in range(PAIRS // CHUNK))
    check(name, single(2)[name].accuracy, chunks, 2)


def test_functions_are_found() -> None:
    assert {"sin", "erfc", "rsqrt", "precise_log"} <= single(1).keys()
    assert single(2).keys() == {"atan2", "pow", "precise_atan2"}


@pytest.mark.parametrize("part", range(8))
def test_ptx_of_every_instance_is_exact(part: int, tmp_path: Path) -> None:
    """Nothing approximates, flushes or fuses, and ptxas takes it where there is one."""
    texts = []
    for batch in batches()[part::8]:
        kernel = kernel_for(batch)
        program = kernel.program(kernel.concrete_types())
        texts.append(ptx_text(program.lowered(Choice(unit=True)), entry="k"))
        check_exact(texts[-1])
    if PTXAS is not None:
        assemble(texts, tmp_path)
