"""Objects: what they refer to, loading many of them, floating-point state, bad input."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from strategies import signatures
from unit.codegen.harness import Launch, Make, compiled, run

from heald.artifact import Artifact
from heald.codegen import Target, build, compile_object, host_target, jit, load
from heald.codegen.jit import load_object
from heald.codegen.objects import undefined_symbols
from heald.codegen.support import HALF_NAMES, NAMES, addresses
from heald.diagnostics import InternalError
from heald.ir import Kernel
from heald.ops import TABLE
from heald.types import Array, Scalar, f32, f64, i32, u64

pytestmark = pytest.mark.cpu

ALLOWED = {"memset", "memcpy", "memmove", *NAMES}
"""What compiled kernels may ask of the process on a processor with fma."""


def everything_kernel() -> Kernel:
    """Every value op at every type, and every kind of structural op with a helper."""
    params: dict[str, Array | Scalar] = {"h": u64}
    m = Make(**params)
    i = m.tid()
    for name in sorted(TABLE):
        for way in signatures(name):
            source = [
                m.emit("resource_scalar", m.h, types=[t], kind=1, slot=k)
                for k, t in enumerate(way.operands)
            ]
            value = m.op(name, *source, type=way.result, **dict(way.attrs))
            m.emit("printf", value, i, text="", kinds="")
    local = m.emit("alloc", types=[Array(f64, 1, "local", (3000,))])
    for kind in ("add", "sub", "min", "max", "exch"):
        m.atomic(kind, local, i, m.const(f64, 1.0))
    m.emit("printf", m.load(local, i), text="", kinds="")
    return m.done()


def test_objects_call_nothing_but_the_basics() -> None:
    kernel = everything_kernel()
    assert undefined_symbols(build(kernel, host_target()).code) <= ALLOWED
    # The reader itself sees what is there.
    text = host_target().header + "declare void @missing()\ndefine void @f() {\n"
    text += "  call void @missing()\n  ret void\n}\n"
    assert undefined_symbols(compile_object(text, host_target())) == {"missing"}


OLD = ("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2")
NEWER = (*OLD, "cx16", "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "sahf")


def old_target(cpu: str, features: tuple[str, ...]) -> Target:
    """A processor of this family that knows less, so that its code runs here."""
    host = host_target()
    known = [name[1:] for name in host.features.split(",")]
    flags = ",".join(f"{'+' if name in features else '-'}{name}" for name in known)
    return replace(host, cpu=cpu, features=flags)


OLD_TARGETS = pytest.mark.parametrize(
    ("cpu", "features"),
    [("x86-64", OLD), ("nehalem", NEWER), ("sandybridge", (*NEWER, "avx", "xsave"))],
    ids=("x86-64", "nehalem", "sandybridge"),
)


def test_objects_for_old_processors_call_what_is_exact() -> None:
    code = build(everything_kernel(), old_target("x86-64", OLD)).code
    assert undefined_symbols(code) <= {*ALLOWED, *HALF_NAMES, *jit.ALLOWED}
    assert {"fma", "fmaf", *HALF_NAMES} <= undefined_symbols(code)


CONVERT = """
define i32 @widen(i16 %bits) {
  %half = bitcast i16 %bits to half
  %float = fpext half %half to float
  %result = bitcast float %float to i32
  ret i32 %result
}

define i16 @narrow(i32 %bits) {
  %float = bitcast i32 %bits to float
  %half = fptrunc float %float to half
  %result = bitcast half %half to i16
  ret i16 %result
}
"""


@OLD_TARGETS
def test_float16_without_instructions_for_it(cpu: str, features: tuple[str, ...]) -> None:
    old = old_target(cpu, features)
    code = compile_object(old.header + CONVERT, old)
    assert undefined_symbols(code) == set(HALF_NAMES)
    (widen, narrow), keepalive = load_object(code, ("widen", "narrow"), addresses(HALF_NAMES))
    to_float = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint16)(widen)
    to_half = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_uint32)(narrow)
    halves = np.arange(1 << 16, dtype=np.uint16)
    found = np.array([to_float(int(h)) for h in halves], np.uint32).view(np.float32)
    expected = halves.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
    assert np.array_equal(np.signbit(found), np.signbit(expected))
    # Every half, what lies between neighbours, and what lies just beside that.
    bits = found.view(np.uint32).astype(np.int64)
    floats = np.concatenate([bits, *(bits + (1 << 12) + k for k in (-1, 0, 1))])
    floats = np.concatenate([floats, np.random.default_rng(0).integers(0, 1 << 32, 20000)])
    floats = np.unique(floats[(floats >= 0) & (floats < 1 << 32)])
    with np.errstate(all="ignore"):
        expected = floats.astype(np.uint32).view(np.float32).astype(np.float16)
    found = np.array([to_half(int(x)) for x in floats], np.uint16).view(np.float16)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    assert np.array_equal(found.view(np.uint16)[numbers], expected.view(np.uint16)[numbers])
    assert keepalive


def add_kernel(number: int) -> Kernel:
    m = Make("same_name", y=Array(i32, 1))
    i = m.tid()
    m.store(m.y, i, m.op("iadd", i, m.const(i32, number)))
    return m.done()


def test_two_hundred_kernels_of_one_name_live_side_by_side() -> None:
    first = [build(add_kernel(n), host_target()) for n in range(8)]
    loaded = [(n % 8, load(first[n % 8])) for n in range(200)]
    assert len({code.address for _, code in loaded}) == 200
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    for number, code in loaded:
        y = np.zeros(3, np.int32)
        launch = Launch(add_kernel(number), (3,), (y,))
        entry(code.address)(*launch.pointers, 0, 3)
        assert y.tolist() == [number, number + 1, number + 2]


def test_an_object_is_the_same_each_time_and_may_be_loaded_elsewhere() -> None:
    # Nothing absolute is embedded: equal kernels give equal bytes, which a cache may keep.
    assert build(add_kernel(3), host_target()).code == build(add_kernel(3), host_target()).code


@pytest.mark.parametrize("symbol", ["nobody_has_this", "calloc"])
def test_code_that_refers_to_anything_else_is_refused(symbol: str) -> None:
    text = host_target().header + f"declare void @{symbol}()\ndefine void @f() {{\n"
    text += f"  call void @{symbol}()\n  ret void\n}}\n"
    code = compile_object(text, host_target())
    with pytest.raises(InternalError, match=symbol):
        load_object(code, ["f"])


def test_corrupt_code_is_refused() -> None:
    code = build(add_kernel(3), host_target()).code
    for bad in (b"", b"text", code[:100], code[:4] + b"\1" + code[5:], code[:-64]):
        with pytest.raises(InternalError):
            load_object(bad, ["heald_kernel_same_name"])
    with pytest.raises(InternalError):
        load_object(code, ["another_name"])


def test_code_of_another_target_is_refused() -> None:
    with pytest.raises(InternalError, match="cuda"):
        load(Artifact("cuda", b"", "entry", (), 0, 1))


@pytest.mark.parametrize("text", ["define void @f( {", "define void @f() {\n ret i32 0\n}\n"])
def test_text_that_llvm_refuses_is_our_bug(text: str) -> None:
    with pytest.raises(InternalError, match="LLVM refuses"):
        compile_object(text, host_target())


# ------------------------------------------------------------------------------ arithmetic state


def set_mxcsr(value: int | None = None) -> int:
    """Set this thread's floating-point state, if asked to; gives the state before."""
    text = (
        host_target().header
        + """
define i32 @get() { %p = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  %v = load i32, ptr %p
  ret i32 %v }
define void @set(i32 %v) { %p = alloca i32
  store i32 %v, ptr %p
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  ret void }
"""
    )
    (get, put), _keep = load_object(compile_object(text, host_target()), ["get", "set"])
    before = ctypes.CFUNCTYPE(ctypes.c_uint32)(get)()
    if value is not None:
        ctypes.CFUNCTYPE(None, ctypes.c_uint32)(put)(value)
    return before


FLUSHING = 0x1F80 | 1 << 15 | 1 << 6 | 3 << 13
"""Flush to zero, denormals are zero, round towards zero."""


def test_subnormals_and_rounding_survive_a_hostile_state() -> None:
    m = Make(x=Array(f32, 1), third=f32, y=Array(f32, 2))
    i = m.tid()
    x = m.load(m.x, i)
    m.store(m.y, i, m.const(i32, 0), m.op("fmul", x, m.const(f32, 0.5)))
    # The dividend is the same for all threads: LLVM may compute it before the loop.
    m.store(m.y, i, m.const(i32, 1), m.op("fdiv", m.third, m.const(f32, 3.0)))
    x, y = np.full(3, 3e-39, np.float32), np.zeros((3, 2), np.float32)
    launch = Launch(m.done(), (3,), (x, 2.0, y))
    compiled(launch.kernel)
    before = set_mxcsr(FLUSHING)
    try:
        launch.run()
        after = set_mxcsr()
    finally:
        set_mxcsr(before)
    assert after == FLUSHING
    assert y[:, 0].view(np.uint32).tolist() == (x * np.float32(0.5)).view(np.uint32).tolist()
    assert (y[:, 0] > 0).all()
    assert y[:, 1].tolist() == [float(np.float32(2) / np.float32(3))] * 3


def test_fma_rounds_once() -> None:
    m = Make(a=f32, b=f32, y=Array(f32, 1))
    i = m.tid()
    m.store(m.y, i, m.op("fma", m.a, m.a, m.b))
    y = np.zeros(1, np.float32)
    a = np.float32(1 + 2**-12)
    run(m.done(), 1, a, -float(np.float32(a * a)), y)
    assert y[0] == 2**-24


def test_products_and_sums_stay_apart() -> None:
    m = Make(a=f32, b=f32, y=Array(f32, 1))
    i = m.tid()
    m.store(m.y, i, m.op("fadd", m.op("fmul", m.a, m.a), m.b))
    y = np.ones(1, np.float32)
    a = np.float32(1 + 2**-12)
    run(m.done(), 1, a, -float(np.float32(a * a)), y)
    assert y[0] == 0
