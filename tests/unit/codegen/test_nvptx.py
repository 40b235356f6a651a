"""PTX of every kernel of the corpus and of every builtin: ptxas takes it, and it is exact."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from blocks.features import FEATURES
from blocks.kernels import CASES
from library.test_devices import batches, kernel_for
from meaning.calls import signatures
from meaning.checking import case_of
from meaning.sources import generate
from meaning.test_corpus import NAMES, load
from unit.codegen.harness import Make

import heald as wp
from heald.artifact import abi
from heald.codegen import build, cuda_architecture, cuda_target, faults, printing, ptx_text
from heald.codegen.helpers import FAULT, LANES_FAULT, print_room
from heald.codegen.nvptx import gpu_level
from heald.codegen.target import LEVEL
from heald.codegen.wide import checks
from heald.diagnostics import CompileError, DeviceError, InternalError
from heald.driver.choice import Choice
from heald.driver.compiler import widen_for_gpu
from heald.ir import Kernel, walk
from heald.passes import FRONT, SCALAR_CPU, guard, run_pipeline
from heald.passes.coarsen import coarsen
from heald.passes.facts import is_guarded
from heald.passes.layout import assume_unit
from heald.passes.pipelines import WIDE_CPU
from heald.passes.warp_reduce import warp_reduce
from heald.runtime.cuda.assembler import find_ptxas
from heald.types import (
    SCALARS,
    Array,
    Matrix,
    Scalar,
    b1,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u64,
)

PTXAS = find_ptxas()
needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed")
SEEDS = 24


def lowered(kernel: Kernel) -> Kernel:
    return run_pipeline(guard(run_pipeline(kernel, FRONT, check=True)), SCALAR_CPU, check=True)


def assemble(texts: list[str], folder: Path, arch: str = "sm_90") -> None:
    """ptxas must take every text; one process for many files costs least."""
    assert PTXAS is not None
    for number, text in enumerate(texts):
        path = folder / f"{number}.ptx"
        path.write_text(text)
        done = subprocess.run(
            [PTXAS, f"-arch={arch}", "-O1", str(path), "-o", str(folder / "out.cubin")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr + text


def unwaited(text: str) -> list[str]:
    """What threads do before they wait for the grid before, but for arithmetic and parameters.

    Else they could read what that is still writing, or be done before it is.
    """
    body = text[text.index(".entry") :]
    lines = [line.strip() for line in body[body.index("{") : body.index("\n}")].splitlines()]
    labels = {line[:-1]: n for n, line in enumerate(lines) if re.fullmatch(r"\$\w+:", line)}
    found, seen, work = [], set(), [1]
    while work:
        n = work.pop()
        if n in seen or lines[n].startswith("griddepcontrol.wait;"):
            continue
        seen.add(n)
        bare = re.sub(r"^@!?%p\d+ +", "", lines[n])
        if bare.startswith("bra"):
            work.append(labels[bare.split()[-1].rstrip(";")])
        elif re.match(r"ret|exit|trap|st\.|atom|red|call|bar|\{|ld\.(?!param)", bare):
            found.append(bare)
        if bare != lines[n] or not bare.startswith(("bra", "ret")):
            work.append(n + 1)
    return found


def check_exact(text: str) -> None:
    """Nothing approximates, flushes or fuses; every call is one of our own."""
    assert not re.search(r"\.approx|\.ftz|\.full\b", text)
    assert not re.search(r"\s(add|sub|mul)\.f(16|32|64)\b", text), "without .rn ptxas may fuse"
    called = set(re.findall(r"\bcall(?:\.uni)? +(?:\([^)]*\), *)?(\w+)", text))
    assert called <= {"heald_gpu_fault", "heald_print_room"}
    assert ".extern" not in text


def check_spaces(text: str) -> None:
    """Every access of the kernel says which memory it means; others cost a look at the address."""
    kernel = text[text.index(".entry") : text.index("$L__func_end0")]
    assert not re.search(r"\s(ld|st|atom|red)(\.volatile|\.relaxed\.\w+)?\.(b|u|s|f|v)\d", kernel)


def check_variants(kernel: wp.Kernel, folder: Path) -> None:
    """The PTX that asks nothing of its launch, and that for launches of which everything holds."""
    program = kernel.program(kernel.concrete_types())
    choices = [Choice(), Choice(bounds=True, unit=True, apart=True)]
    lowered_ = [program.lowered_for_gpu(choice, "sm_90") for choice in choices]
    texts = [ptx_text(kernel, entry="k", wide=widen_for_gpu(kernel)) for kernel in lowered_]
    for text in texts:
        check_exact(text)
        assert unwaited(text) == []
        check_spaces(text)
    assemble(texts, folder)


@needs_ptxas
@pytest.mark.parametrize("name", NAMES)
def test_ptxas_takes_the_corpus(name: str, tmp_path: Path) -> None:
    check_variants(load(name).module.kernel, tmp_path)


@needs_ptxas
@pytest.mark.parametrize("name", [*CASES, *FEATURES])
def test_ptxas_takes_kernels_of_blocks(name: str, tmp_path: Path) -> None:
    check_variants((CASES.get(name) or FEATURES[name]).kernel, tmp_path)


@needs_ptxas
def test_ptxas_takes_random_kernels(tmp_path: Path) -> None:
    texts = [
        ptx_text(lowered(case_of(generate(seed), seed).kernel), entry="k") for seed in range(SEEDS)
    ]
    for text in texts:
        check_exact(text)
        assert unwaited(text) == []
    assemble(texts, tmp_path)


BATCHES = batches()


@needs_ptxas
@pytest.mark.parametrize("share", range(8))
def test_ptxas_takes_the_library(share: int, tmp_path: Path) -> None:
    """A part of the instances of every builtin; a GPU runs all of them (tests/gpu)."""
    texts = []
    for batch in BATCHES[share::24]:
        kernel = kernel_for(batch[:3])
        program = kernel.program(kernel.concrete_types())
        texts.append(ptx_text(program.lowered(Choice(unit=True)), entry="k"))
        check_exact(texts[-1])
    assemble(texts, tmp_path)


@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90a", "sm_100", "sm_120"])
def test_other_architectures(arch: str, tmp_path: Path) -> None:
    kernel = load("particles").module.kernel
    text = ptx_text(
        kernel.program(kernel.concrete_types()).lowered(Choice()), arch, entry="particles"
    )
    assert f".target {arch}" in text
    if arch != "sm_70":  # ptxas of CUDA 13 has dropped it
        assemble([text], tmp_path, arch)


@needs_ptxas
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max", "and", "or", "xor", "exch", "cas"])
def test_atomics_of_every_type(kind: str, tmp_path: Path) -> None:
    texts = []
    for t in SCALARS:
        if kind in ("and", "or", "xor") and t.is_float:
            continue
        if kind in ("add", "sub", "min", "max") and t is b1:
            continue
        m = Make(a=Array(t, 1))
        value = m.load(m.a, m.const(i32, 0))
        m.atomic(kind, m.a, m.tid(), *[value] * (2 if kind == "cas" else 1))
        texts.append(ptx_text(lowered(m.done()), entry="k"))
        assert "atom.sys" not in texts[-1]
        if t is f32 and kind in ("add", "sub"):  # the instruction flushes subnormals
            assert re.search(r"setp\.\w+\.\w+ .*22649241[56]", texts[-1])
            assert "global.cas.b32" in texts[-1]
        if t is f16 and kind == "add":
            assert "add.noftz.f16" in texts[-1]
        if t in (f16, f32, f64) and kind in ("add", "sub"):
            assert "atom.global.add" in texts[-1]
    assemble(texts, tmp_path)


def test_places_of_the_source() -> None:
    loaded = load("saxpy")
    kernel = loaded.module.kernel
    text = ptx_text(kernel.program(kernel.concrete_types()).lowered(Choice()), entry="saxpy")
    assert re.search(r'\.file\s+1 ".*saxpy\.py"', text)
    lines = {int(n) for n in re.findall(r"\.loc\s+1 (\d+) \d+", text)}
    source = Path(loaded.module.__file__ or "").read_text().splitlines()
    wanted = next(n for n, line in enumerate(source, 1) if "+" in line and "=" in line)
    assert wanted in lines


def test_elements_are_accessed_whole() -> None:
    """LLVM splits accesses of unknown alignment into bytes, which ptxas gets wrong for floats."""
    kernel = load("saxpy").module.kernel
    text = ptx_text(kernel.program(kernel.concrete_types()).lowered(Choice()), entry="k")
    assert "st.global.b32" in text
    assert "ld.global.b32" in text
    assert not re.search(r"(ld|st)\.global\.b8", text)


def test_parameters_that_do_not_fit() -> None:
    big = Matrix(f64, 64, 64)
    m = Make(x=big, y=big, a=Array(f64, 1))
    value = m.emit("extract", m.y, types=[f64], leaf=0)
    m.store(m.a, m.tid(), value)
    with pytest.raises(CompileError, match="at most") as caught:
        ptx_text(lowered(m.done()), entry="k")
    assert caught.value.codes == ("H0805",)


def test_architectures() -> None:
    assert cuda_architecture(9, 0) == "sm_90"
    assert cuda_architecture(8, 8) == "sm_87"
    assert cuda_architecture(12, 1) == "sm_120"
    assert cuda_architecture(99, 0) == "sm_120"
    with pytest.raises(DeviceError, match="too old"):
        cuda_architecture(6, 1)
    with pytest.raises(DeviceError, match="sm_90"):
        cuda_target("sm_35")


def test_a_key_of_a_fault_holds_every_thread_of_a_grid() -> None:
    assert abi.GPU_MAX_THREADS > ((1 << 31) - 1) * 1024
    assert abi.GPU_MAX_THREADS << abi.FAULT_THREAD_SHIFT == 1 << 63


def test_functions_for_the_host_are_no_kernels() -> None:
    m = Make()
    kernel = m.done(rank=0)
    with pytest.raises(InternalError, match="host"):
        ptx_text(Kernel(kernel.name, kernel.params, kernel.body, results=(i64,)), entry="k")


def streaming() -> tuple[Kernel, Kernel]:
    """c = a + b for dense arrays, alone and with lanes."""
    m = Make(a=Array(f32, 1), b=Array(f32, 1), c=Array(f32, 1))
    i = m.tid()
    m.store(m.c, i, m.op("fadd", m.load(m.a, i), m.load(m.b, i)))
    scalar = run_pipeline(assume_unit(guard(m.done(), safety="unchecked")), SCALAR_CPU, check=True)
    return scalar, coarsen(run_pipeline(scalar, WIDE_CPU, check=True))


def test_lanes_are_a_warp_apart() -> None:
    kernel, wide = streaming()
    text = ptx_text(kernel, entry="k", wide=wide)
    for offset in (128, 256, 384):
        assert len(re.findall(rf"ld\.global\.b32 .*\+{offset}\]", text)) == 2
        assert len(re.findall(rf"st\.global\.b32 .*\+{offset}\]", text)) == 1


@needs_ptxas
def test_atomics_of_a_warp(tmp_path: Path) -> None:
    texts = []
    for t in (i32, u64, f32, f64):
        kinds = ("add", "sub", "min", "max")
        for kind in kinds if t.is_float else (*kinds, "and", "or", "xor"):
            m = Make(a=Array(t, 1), x=Array(t, 1))
            m.atomic(kind, m.a, m.const(i32, 0), m.load(m.x, m.tid()))
            kernel = warp_reduce(lowered(m.done()), floats=True)
            texts.append(ptx_text(kernel, entry="k", wide=widen_for_gpu(kernel)))
            assert ("redux.sync" in texts[-1]) == (t is i32)
            assert ("shfl.sync" in texts[-1]) == (t is not i32)
            assert texts[-1].count("activemask") == 2  # with one lane, and with several
    for t in (i8, u8, i16, u16):
        for kind in ("add", "sub", "min", "max"):
            m = Make(a=Array(t, 1), x=Array(t, 1))
            m.atomic(kind, m.a, m.op("isub", m.tid(), m.const(i32, 1)), m.load(m.x, m.tid()))
            kernel = warp_reduce(lowered(m.done()))
            texts.append(ptx_text(kernel, entry="k", wide=widen_for_gpu(kernel)))
            assert "match.any.sync.b64" in texts[-1]
            assert "redux.sync" in texts[-1]
    assemble(texts, tmp_path)


@pytest.mark.parametrize("loops", [False, True])
def test_what_is_launched_is_what_is_shown(loops: bool) -> None:
    """With the function for faults, choices by bits and the passes that a kernel gets."""

    def choose(x: wp.array(dtype=float), n: int):
        for _ in range(n * loops):
            x[0] += 1.0
        x[wp.tid()] = wp.where(x[0] < 0.5, -0.0, 1.0)

    kernel = wp.kernel(choose, name=f"choose_{loops}")
    scalar = kernel.program(kernel.concrete_types()).lowered_for_gpu(Choice(), "sm_90")
    wide = widen_for_gpu(scalar)
    made = build(scalar, cuda_target("sm_90"), wide=wide)
    shown = ptx_text(scalar, entry=made.entry, wide=wide, locations=False)
    assert any(op.name == "for" for op in walk(scalar.body)) == loops
    assert made.code.decode() == shown
    assert "selp.b32" in shown
    assert "selp.f32" not in shown
    assert shown.count(".func heald_gpu_fault") == 1
    assert ".extern" not in shown


def test_declarations_of_helpers_fit_them() -> None:
    """Kernels are compiled without them, so nothing else looks."""
    helpers = signatures("\n".join([FAULT, LANES_FAULT, print_room()]))
    helpers |= signatures(faults.GPU_HELPER)
    declared = (faults.DECLARATION, checks.DECLARATION, printing.DECLARATION)
    assert signatures("\n".join([*declared, faults.GPU_DECLARATION])) == helpers
    assert len(helpers) == 4


def test_only_kernels_with_loops_get_llvms_long_list_of_passes() -> None:
    m = Make(x=Array(f32, 1))
    m.store(m.x, m.tid(), m.const(f32, 1.0))
    straight = lowered(m.done())
    assert gpu_level(straight) == gpu_level(straight, 3) == 1
    assert gpu_level(straight, 0) == 0
    sums = wp.kernel(sum_all, name="sum_all")
    assert gpu_level(sums.program(sums.concrete_types()).lowered(Choice())) == LEVEL


def sum_all(x: wp.array(dtype=float), n: int):
    for i in range(n):
        x[0] += x[i]


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_floats_are_exchanged_by_one_instruction(t: Scalar) -> None:
    """Not by a loop, of whose rounds nearly all are in vain where many threads meet."""
    m = Make(a=Array(t, 1), x=Array(t, 1))
    m.store(m.x, m.tid(), m.atomic("exch", m.a, m.const(i32, 0), m.load(m.x, m.tid())))
    _, _, entry = ptx_text(lowered(m.done()), entry="k").partition(".visible .entry")
    assert entry.count(f"atom.global.exch.b{t.bits}") == 1
    assert "global.cas" not in entry


def test_numbers_are_chosen_by_their_bits() -> None:
    """ptxas takes ``selp.f32`` of 1.0 and -0.0 for a number made of the predicate, which is 0.0."""
    m = Make(x=Array(f32, 1), c=Array(b1, 1))
    chosen = m.op("select", m.load(m.c, m.tid()), m.const(f32, 1.0), m.const(f32, -0.0))
    m.store(m.x, m.tid(), chosen)
    text = ptx_text(lowered(m.done()), entry="k")
    assert re.search(r"selp\.b32\s+%r\d+, 0f(3F8|800)00000, 0f(3F8|800)00000, %p\d+;", text)


def test_one_by_a_root_is_one_instruction_where_fast_ones_are_asked_for() -> None:
    def inverse(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = 1.0 / wp.sqrt(x[i])
        x[i] = 2.0 / wp.sqrt(x[i])

    for fast in (True, False):
        kernel = wp.kernel(inverse, name=f"inverse_{fast}", fast_math=fast)
        program = kernel.program(kernel.concrete_types())
        text = ptx_text(program.lowered(Choice()), entry="k")
        assert ("rsqrt.approx" in text) == fast
        assert ("div.full" in text) == fast


def test_a_grid_waits_before_it_accesses_memory_or_ends() -> None:
    kernel, wide = streaming()
    for widened in (None, wide):
        text = ptx_text(kernel, entry="k", wide=widened)
        assert unwaited(text) == []
        assert unwaited(text.replace("griddepcontrol.wait;", ""))


def test_only_some_architectures_wait() -> None:
    kernel, wide = streaming()
    text = ptx_text(kernel, "sm_89", entry="k", wide=wide)
    assert "griddepcontrol" not in text
    assert build(kernel, cuda_target("sm_100")).waits
    assert not build(kernel, cuda_target("sm_89")).waits


@wp.kernel
def shares(x: wp.array(dtype=wp.vec2), sums: wp.array(dtype=float)):
    total = wp.vec2(0.0, 0.0)
    for k in range(wp.tid(), x.shape[0], sums.shape[0] * wp.block_dim()):
        total += x[k]
    y = wp.reduce_sum(total[0] + total[1])
    if wp.thread_index() == 0:
        sums[wp.block_index()] = y


@wp.kernel
def row_sums(x: wp.array(dtype=float, ndim=2), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for k in range(n):
        total += x[i, k]
    out[i] = total


@needs_ptxas
@pytest.mark.parametrize("kernel", [shares, row_sums], ids=lambda k: k.key)
@pytest.mark.parametrize("bounds", [False, True])
def test_four_iterations_load_before_they_compute(
    kernel: wp.Kernel, bounds: bool, tmp_path: Path
) -> None:
    """A block of the code has the loads of four iterations, and behind them all of the sums."""
    program = kernel.program(kernel.concrete_types())
    choice = Choice(bounds=bounds, unit=True, apart=True)
    text = ptx_text(program.lowered_for_gpu(choice, "sm_90"), entry="k", locations=False)
    each = 2 if kernel is shares else 1
    blocks = [re.findall(r"ld\.global|add\.rn\.f32", b) for b in re.split(r"\n\$L", text)]
    assert ["ld.global"] * 4 * each + ["add.rn.f32"] * 4 * each in blocks
    assert ["ld.global"] * each + ["add.rn.f32"] * each in blocks
    check_exact(text)
    assemble([text], tmp_path)


@wp.kernel
def rotate(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = wp.shuffle_idx(x[i], (i + 1) % 32)


def text_of(kernel: wp.Kernel) -> str:
    program = kernel.program(kernel.concrete_types())
    return ptx_text(program.lowered(Choice(bounds=True, unit=True, apart=True)), entry="k")


def test_whole_warps_know_who_exchanges() -> None:
    masks = re.findall(r"shfl\.sync\.idx\.b32 .*, (\S+);", text_of(rotate))
    assert sorted(mask == "-1" for mask in masks) == [False, True]


@wp.kernel
def sort_four(x: wp.array(dtype=wp.vec4), y: wp.array(dtype=wp.vec4), n: int):
    i = wp.tid()
    own = wp.zeros(shape=4, dtype=float)
    for k in range(4):
        own[k] = x[i][k]
    for k in range(n):
        own[k % 4] += 1.0
    for k in range(4):
        y[i][k] = own[3 - k]


@wp.kernel
def turn_around(x: wp.array(dtype=float, ndim=2), y: wp.array(dtype=float, ndim=2)):
    i = wp.tid()
    own = wp.zeros(shape=24, dtype=float)
    for k in range(24):
        own[k] = x[i, k % x.shape[1]] * float(k)
    for k in range(24):
        y[i, k % y.shape[1]] = own[23 - k] + own[k]


def test_small_arrays_of_a_thread_are_registers_where_loops_are_constant() -> None:
    assert not re.search(r"(ld|st)\.local\.b32", text_of(turn_around))
    assert re.search(r"(ld|st)\.local\.b32", text_of(sort_four))


@wp.kernel
def near(grid: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=int)):
    i = wp.tid()
    n = 0
    for j in wp.hash_grid_query(grid, x[i], 1.0):
        n += y[j]
    y[i] = n


def test_lists_of_a_grid_are_read_from_global_memory_without_guards() -> None:
    text = text_of(near)
    assert not re.search(r"\sld\.b32", text), "generic"
    compared = re.findall(r"setp\.(?:lt|le|gt|ge)\.u32", text)
    assert compared, "an index is compared in 32 bits"
    program = near.program(near.concrete_types())
    lowered_ = program.lowered(Choice(bounds=True, unit=True, apart=True))
    guards = [op for op in walk(lowered_.body) if op.name == "load" and is_guarded(op)]
    assert len(guards) == 3, "where a row of cells starts and ends, and y[j]; not the list"


@pytest.mark.parametrize("t", [i32, i64], ids=str)
def test_indices_are_compared_in_32_bits_where_no_extent_needs_more(t: Scalar) -> None:
    """An axis of stride 0 may have 2^32 + 1 elements though the array is small."""
    m = Make(a=Array(f32, 2), n=Array(i32, 1))
    index = m.load(m.n, m.tid(0, t))
    m.store(m.a, index, index, m.const(f32, 1.0))
    text = ptx_text(assume_unit(lowered(m.done())), entry="k")
    assert bool(re.search(r"setp\.(?:lt|le|gt|ge)\.u32", text)) == (t is i32)


@wp.kernel
def count_far(y: wp.array(dtype=int), n: int):
    i = wp.tid()
    own = wp.zeros(shape=4, dtype=int)
    if n > 0:
        for _ in range(wp.int64(-5000000000000000000), wp.int64(5000000000000000000)):
            for _ in range(wp.int64(-5000000000000000000), wp.int64(5000000000000000000)):
                own[i & 3] += n
    y[i] = own[i & 3] + 6


@pytest.mark.cpu
def test_loops_over_more_numbers_than_a_signed_integer_counts() -> None:
    assert "local" in text_of(count_far)
    y = wp.zeros(4, dtype=int, device="cpu")
    wp.launch(count_far, dim=4, inputs=[y, 0], device="cpu")
    assert y.list() == [6] * 4
