"""The fast set: as accurate as it says, taken where it is asked for, and never anywhere else."""

import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from library.instances import Instance, instances
from library.references import FLOAT64
from library.samples import LARGEST, TINY, to_numbers
from library.test_accuracy import MANTISSA
from library.test_devices import kernel_for

import heald as wp
from heald.codegen import cuda_target
from heald.codegen.emit import llvm_text
from heald.codegen.nvptx import gpu_text, ptx_text
from heald.codegen.target import host_target
from heald.frontend import Options, lower_call
from heald.ir import Kernel, code_hash, walk
from heald.library.arithmetic import sqrt
from heald.library.language import float32
from heald.library.registry import Interval, Overload, Rounded, Tolerance, fast, load_topics, lookup
from heald.passes import FRONT, SCALAR_CPU, guard, run_pipeline
from heald.types import Scalar, bf16, f16, f32, f64

NDArray = npt.NDArray[Any]
EXACT = {"div": np.divide, "sqrt": np.sqrt}

RECORDS = [
    (name, record, record.fast)
    for name, b in load_topics().items()
    for record in b.records
    if record.fast is not None
]
FAST: dict[str, Overload] = {
    name: found for name, record, found in RECORDS if found.function is not record.function
}
HALVES: dict[str, Overload] = {
    name: found for name, record, found in RECORDS if found.function is record.function
}
NAMES = pytest.mark.parametrize("name", FAST)
RELAXED = re.compile(r"\b(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b|\basm\b")
"""What LLVM may be told to be less exact, and instructions that it does not know."""


def arguments(name: str, count: int) -> list[NDArray]:
    """Numbers of the domain, those next to its ends first."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    columns = []
    for parameter in FAST[name].function.__code__.co_varnames[: 1 + (name in ("div", "pow"))]:
        rule = FAST[name].domain.get(parameter)
        if rule is None:
            size = np.exp(rng.uniform(-88, 88, count))
            values = np.where(rng.random(count) < 0.5, size, rng.uniform(0, 20, count))
            values *= rng.choice([-1.0, 1.0], count)
        else:
            assert isinstance(rule, Interval)
            low, high = rule.low, rule.high
            values = rng.uniform(low, high, count)
            if low > 0:
                values = np.exp(rng.uniform(np.log(low), np.log(high), count))
            near_one = np.where(rng.random(count) < 0.2, rng.uniform(0.5, 1.5, count), values)
            values = np.clip(near_one, low, high)
        columns.append(values.astype(np.float32))
    return columns


def error_of(name: str, columns: list[NDArray], got: NDArray) -> NDArray:
    """By the tolerance: 1 is the most that is promised."""
    accuracy = FAST[name].accuracy
    assert isinstance(accuracy, Tolerance)
    with np.errstate(all="ignore"):
        reference = EXACT.get(name) or FLOAT64[name]
        wanted = reference(*(c.astype(np.float64) for c in columns))
        bound = accuracy.relative * np.abs(wanted) + accuracy.absolute
        error = np.abs(got - wanted) / bound
    largest = float(np.finfo(np.float32).max)
    beyond = np.abs(wanted) > largest * (1 - accuracy.relative)
    fine = np.isnan(wanted) & np.isnan(got) | beyond & (np.abs(got) >= largest / 2)
    return np.where(fine | (got == wanted), 0.0, error)


def run(
    name: str, columns: list[NDArray], device: str, *, fast_math: bool = True, dtype: Any = f32
) -> NDArray:
    function = getattr(wp, name)
    inputs = [wp.array(c, dtype=dtype, device=device) for c in columns]
    out = wp.zeros(len(columns[0]), dtype=dtype, device=device)
    kernel = wp.map(function, *inputs, out=out, return_kernel=True, device=device)
    kernel.options["fast_math"] = fast_math
    try:
        wp.launch(kernel, dim=len(columns[0]), inputs=[*inputs, out], device=device)
    finally:
        del kernel.options["fast_math"]
    return np.array(out.numpy())


@pytest.mark.cpu
@NAMES
def test_accuracy_is_what_the_record_says(name: str) -> None:
    columns = arguments(name, 400_000)
    error = error_of(name, columns, run(name, columns, "cpu"))
    worst = int(np.argmax(error))
    assert error[worst] <= 1, f"{error[worst]} of the tolerance at {[c[worst] for c in columns]}"


def half_arguments(name: str, t: Scalar) -> list[NDArray]:
    """Every number of the domain; of two parameters very many pairs."""
    domain = HALVES[name].domain
    every = to_numbers(t, np.arange(1 << 16, dtype=np.uint16).view(t.carrier))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = every.astype(np.float64)
    rules = [domain.get(p) for p in HALVES[name].function.__code__.co_varnames[:2] if p in "xy"]
    columns = []
    for rule in rules:
        values = every
        if rule is not None:
            assert isinstance(rule, Interval)
            values = every[(wide >= rule.low) & (wide <= rule.high)]
        columns.append(values)
    if len(columns) == 2:
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        columns = [rng.choice(values, 400_000) for values in columns]
    return columns


@pytest.mark.cpu
@pytest.mark.parametrize("t", [f16, bf16], ids=str)
@pytest.mark.parametrize("name", HALVES)
def test_accuracy_of_every_16_bit_number(name: str, t: Scalar) -> None:
    columns = half_arguments(name, t)
    got = run(name, columns, "cpu", dtype=t).astype(np.float64)
    accuracy = HALVES[name].accuracy
    assert isinstance(accuracy, Rounded)
    before, largest = accuracy.before, LARGEST[t]
    with np.errstate(all="ignore"):
        wanted = FLOAT64[name](*(c.astype(np.float64) for c in columns))
        off = before.relative * np.abs(wanted) + before.absolute
        unit = np.maximum(np.exp2(np.floor(np.log2(np.abs(wanted))) - MANTISSA[t]), TINY[t])
        error = np.abs(got - wanted) - off
        half_past = largest * (1 + 2.0 ** -(MANTISSA[t] + 2))  # what is above rounds to infinity
        beyond = (np.abs(wanted) + off >= half_past) & (np.abs(got) >= largest)
    fine = np.isnan(wanted) & np.isnan(got) | beyond & (np.sign(got) == np.sign(wanted))
    error = np.where(fine | (got == wanted), 0.0, error / unit)
    worst = int(np.argmax(error))
    assert error[worst] <= 0.5, f"{error[worst]} ulp at {[c[worst] for c in columns]}"


@pytest.mark.cpu
@NAMES
def test_interpreter_and_cpu_give_the_same_bits(name: str) -> None:
    columns = arguments(name, 3000)
    simulated, compiled = (run(name, columns, device) for device in ("sim", "cpu"))
    assert np.array_equal(simulated.view(np.uint32), compiled.view(np.uint32))


@pytest.mark.cpu
@pytest.mark.parametrize("name", [n for n in FAST if n not in ("div", "sqrt")])
def test_the_fast_set_is_another_one(name: str) -> None:
    columns = arguments(name, 3000)
    fast_one, exact = (run(name, columns, "cpu", fast_math=f) for f in (True, False))
    assert np.count_nonzero(fast_one != exact) > 100


def lower(instance: Instance, options: Options) -> Kernel:
    b = instance.builtin
    return lower_call(b.name, b.overloads, instance.types, lookup, options)


def overload_of(name: str) -> Any:
    functions = load_topics()[name].overloads
    count = FAST[name].function.__code__.co_argcount
    return lambda t, o: lower_call(name, functions, [t] * count, lookup, o)


def approximations(kernel: Kernel) -> list[str]:
    return [op.name for op in walk(kernel.body) if op.name.endswith("_approx")]


@NAMES
def test_the_mode_is_part_of_the_program(name: str) -> None:
    lower = overload_of(name)
    slow, quick = lower(f32, Options()), lower(f32, Options(fast_math=True))
    assert not approximations(slow)
    assert approximations(quick)
    assert code_hash(slow) != code_hash(quick)
    assert repr(Options()) != repr(Options(fast_math=True))


def test_what_changes_says_so() -> None:
    """Its record, or the list of what calls such functions in the documentation."""
    text = (Path(__file__).parents[2] / "docs/language.md").read_text()
    listed = re.search(r"no accuracy under `fast_math` is promised:\s+(.*?)\.\n", text, re.DOTALL)
    assert listed
    modes = [Options(fast_math=fast_math) for fast_math in (False, True)]
    every = instances(ONE_OF_EACH)
    changed = [i for i in every if len({code_hash(lower(i, mode)) for mode in modes}) == 2]
    callers = {i.builtin.name for i in changed if i.overload.fast is None}
    assert set(re.findall(r"`(\w+)`", listed[1])) == callers
    assert {i.builtin.name for i in changed if i.overload.fast is not None} == {*FAST, *HALVES}


@NAMES
def test_float64_stays_exact(name: str) -> None:
    lower = overload_of(name)
    slow, quick = lower(f64, Options()), lower(f64, Options(fast_math=True))
    assert code_hash(slow) == code_hash(quick)


def lowered(wir: Kernel) -> Kernel:
    return run_pipeline(guard(run_pipeline(wir, FRONT, check=True)), SCALAR_CPU, check=True)


def launched(instance: Instance) -> Any:
    kernel = kernel_for([instance])
    wir = kernel.program(kernel.concrete_types()).wir
    return lowered(wir)


ONE_OF_EACH = {"N": (3,), "R": (2,), "C": (3,), "K": (4,)}
SINGLE = [
    i for i in instances(ONE_OF_EACH) if i.result is not None and {f32} == {*i.types, i.result}
]


@pytest.mark.parametrize("instance", SINGLE, ids=str)
def test_code_is_exact_unless_asked(instance: Instance) -> None:
    """Not one relaxed instruction; PTX of all builtins: ``unit/codegen/test_nvptx.py``."""
    kernel = launched(instance)
    texts = [llvm_text(kernel, entry="k", target=host_target(), locations=False)]
    texts.append(gpu_text(kernel, entry="k", target=cuda_target("sm_90"), locations=False))
    assert not approximations(kernel)
    for text in texts:
        assert not RELAXED.search("\n".join(x for x in text.splitlines() if " = " in x))


INSTRUCTIONS = {
    "div": "div.full.f32",
    "sqrt": "sqrt.approx.f32",
    "rsqrt": "rsqrt.approx.f32",
    "exp": "ex2.approx.f32",
    "exp2": "ex2.approx.f32",
    "log": "lg2.approx.f32",
    "log2": "lg2.approx.f32",
    "log10": "lg2.approx.f32",
    "pow": "ex2.approx.f32",
    "sin": "sin.approx.f32",
    "cos": "cos.approx.f32",
    "tan": "div.full.f32",
    "tanh": "tanh.approx.f32",
}


@NAMES
def test_gpus_use_their_instructions_and_cpus_none(name: str) -> None:
    (instance,) = [i for i in SINGLE if i.builtin.name == name]
    kernel = kernel_for([instance])
    kernel.options["fast_math"] = True
    wir = kernel.program(kernel.concrete_types()).wir
    text = llvm_text(lowered(wir), entry="k", target=host_target(), locations=False)
    ptx = ptx_text(lowered(wir), entry="k", locations=False)
    assert INSTRUCTIONS[name] in ptx
    assert len(re.findall(r"\bfma\.rn\.f32", ptx)) <= 4, "the code of a CPU falls away"
    assert " asm " not in text


@wp.func
def quotient(a: float, b: float):
    return a / b


@wp.kernel(module_options={"fast_math": True})
def divides(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = quotient(x[i], 3.0) + x[i] / 7.0


@wp.kernel(fast_math=True)
def takes_remainders(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.mod(x[i], 3.0)


def test_operators_of_users_are_fast_and_those_of_the_library_mean_what_is_written() -> None:
    wir = divides.program(divides.concrete_types()).wir
    assert approximations(wir) == ["fdiv_approx"] * 2
    wir = takes_remainders.program(takes_remainders.concrete_types()).wir
    assert not approximations(wir)


@wp.kernel
def switched(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.exp(x[i])


@pytest.mark.cpu
def test_config_module_and_kernel_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    x = wp.array(np.linspace(0.1, 9, 200, dtype=np.float32), device="cpu")

    def result() -> bytes:
        y = wp.zeros(200, device="cpu")
        wp.launch(switched, dim=200, inputs=[x, y], device="cpu")
        return bytes(y.numpy().tobytes())

    exact, exact_host = result(), wp.exp(1.5)
    monkeypatch.setattr(wp.config, "fast_math", True)
    quick = result()
    assert quick != exact
    assert wp.exp(1.5) != exact_host
    switched.module.options["fast_math"] = False
    assert result() == exact
    switched.options["fast_math"] = True
    assert result() == quick
    del switched.options["fast_math"], switched.module.options["fast_math"]
    monkeypatch.setattr(wp.config, "fast_math", False)
    assert result() == exact
    assert wp.exp(1.5) == exact_host


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEALD_FAST_MATH", "1")
    wp.config.reset()
    assert wp.config.fast_math is True
    monkeypatch.undo()
    wp.config.reset()
    assert wp.config.fast_math is False


@pytest.mark.cpu
def test_files_of_kernels_keep_the_mode(tmp_path: Any) -> None:
    y = wp.zeros(2, device="cpu")
    inputs = [wp.array([2.0, 3.0], dtype=float, device="cpu"), y]
    wp.launch(divides, dim=2, inputs=inputs, device="cpu")
    wp.save_ir(divides, tmp_path / "divides.wir")
    loaded = wp.load_ir(tmp_path / "divides.wir")
    with pytest.raises(wp.LaunchError, match="holds no code for these parameter types"):
        wp.launch(loaded, dim=2, inputs=inputs, device="cpu")
    loaded.options["fast_math"] = True
    before = y.numpy().copy()
    y.zero_()
    wp.launch(loaded, dim=2, inputs=inputs, device="cpu")
    assert np.array_equal(before, y.numpy())


def test_registering_wants_an_overload_to_replace() -> None:
    def sqrt_of(x: float32) -> float32:
        return x

    with pytest.raises(ValueError, match="sqrt_of takes the place of no overload of sqrt"):
        fast(sqrt, accuracy=Tolerance(0.1))(sqrt_of)
    sqrt_of.__name__ = "sqrt"
    with pytest.raises(ValueError, match="sqrt takes the place of no overload of sqrt"):
        fast(sqrt, accuracy=Tolerance(0.1))(sqrt_of)  # it has one already
