"""What the artifact says of the kernel."""

from typing import Any

import pytest
from unit.codegen.harness import Make

import heald as wp
from heald.artifact import Access, Artifact, LaunchCondition, LinearTerm, PrintFormat, Site, Symbol
from heald.codegen import build, host_target
from heald.codegen.access import estimate_work, is_uneven, parameter_access
from heald.diagnostics import InternalError
from heald.driver.choice import Choice
from heald.ir import Kernel, Value
from heald.passes.array_roots import array_roots
from heald.types import Array, Struct, Vector, b1, f32, f64, i32, i64, u32, u64

pytestmark = pytest.mark.cpu
A = Array(f32, 1)


def access_of(kernel: Kernel) -> dict[str, Access]:
    names = [kernel.name_of(p) for p in kernel.params]
    return dict(zip(names, parameter_access(kernel), strict=True))


def test_reads_writes_and_both() -> None:
    m = Make(r=A, w=A, rw=A, a=A, unused=A, shape_only=A, s=f32)
    i = m.tid()
    value = m.op("fadd", m.load(m.r, i), m.load(m.rw, i))
    m.emit("dim", m.shape_only, types=[i32], axis=0)
    m.store(m.w, i, m.op("fadd", value, m.s))
    m.store(m.rw, i, value)
    m.atomic("add", m.a, i, value)
    both = Access.READ | Access.WRITE
    none = Access.NONE
    assert access_of(m.done()) == {
        "r": Access.READ, "w": Access.WRITE, "rw": both, "a": both,
        "unused": none, "shape_only": none, "s": none,
    }  # fmt: skip


def test_access_through_views_structs_and_joins() -> None:
    bag = Struct("Bag", (("n", i32), ("x", A), ("y", A)))
    m = Make(bag=bag, p=A, q=A, c=A, d=A)
    i = m.tid()
    one = m.const(i32, 1)
    x = m.emit("extract", m.bag, types=[A], leaf=1)
    view = m.emit("subview", m.p, i, one, one, types=[A], axes="s")
    (picked,) = m.if_(m.op("icmp", i, one, pred="eq"), lambda: [view], lambda: [m.q], [A])
    (carried,) = m.for_(one, i, one, [m.c], lambda iv, a: [m.d])
    m.store(picked, i, m.load(x, i))
    m.load(carried, i)
    kernel = m.done()
    assert access_of(kernel) == {
        "bag": Access.READ, "p": Access.WRITE, "q": Access.WRITE, "c": Access.READ,
        "d": Access.READ,
    }  # fmt: skip
    assert array_roots(kernel)[picked] == {(1, 0), (2, 0)}
    assert array_roots(kernel)[x] == {(0, 1)}


def test_roots_follow_every_exit() -> None:
    m = Make(a=A, b=A, c=A, d=A)
    i = m.tid()
    true = m.const(b1, True)

    def inlined() -> None:
        def body(view: Value) -> list[Value]:
            m.if_(true, lambda: m.leave("break", m.b))
            m.if_(true, lambda: m.leave("continue", m.c))
            m.if_(true, lambda: m.leave("return", m.d))
            m.load(view, i)
            return [view]

        return m.leave("return", *m.while_([m.a], lambda view: [true], body))

    (result,) = m.scope([A], inlined)
    m.store(result, i, m.const(f32, 1.0))
    kernel = m.done()
    write, both = Access.WRITE, Access.READ | Access.WRITE
    assert access_of(kernel) == {"a": both, "b": write, "c": both, "d": write}


def full_kernel() -> Kernel:
    bag = Struct("Bag", (("n", i32), ("inner", Struct("In", (("v", Vector(f32, 2)), ("z", A))))))
    m = Make("step 1<f32>", flag=b1, x=A, bag=bag, big=f64)
    m.at(5)
    i = m.tid()
    m.at(6)
    z = m.emit("extract", m.bag, types=[A], leaf=3)
    value = m.load(m.x, i)
    m.at(7)
    m.store(z, i, value)
    m.emit("assert", m.flag, message="flag is set")
    m.op("idiv", i, i)
    m.emit("printf", i, value, text="%d %f", kinds="i32,f32")
    return m.done()


def test_the_record() -> None:
    condition = LaunchCondition((LinearTerm(0, ((1, Symbol("dim")),)),))
    kernel = full_kernel()
    artifact = build(kernel, host_target(), condition=condition)
    assert isinstance(artifact, Artifact)
    assert (artifact.target, artifact.rank, artifact.condition) == ("cpu", 1, condition)
    assert artifact.entry == "heald_kernel_step_1_f32_"
    assert artifact.code.startswith(b"\x7fELF")
    names = [(p.name, p.offset, p.access) for p in artifact.parameters]
    assert names == [
        ("flag", 0, Access.NONE),
        ("x", 8, Access.READ),
        ("bag", 32, Access.WRITE),
        ("big", 32 + 8 + 8 + 24, Access.NONE),
    ]
    assert artifact.block_size == 80
    sites = {op: (site.op, site.span.line, site.subject) for op, site in artifact.sites.items()}
    assert sites == {
        2: ("load", 6, "x"),
        3: ("store", 7, "bag.inner.z"),
        4: ("assert", 7, "flag is set"),
        5: ("idiv", 7, ""),
    }
    assert artifact.formats == {6: PrintFormat("%d %f", ("i32", "f32"))}


def test_unnamed_parameters_and_sites_without_a_place() -> None:
    m = Make(x=A)
    m.store(m.x, m.tid(), m.const(f32, 1.0))
    kernel = m.done()
    bare = Kernel("k", kernel.params, kernel.body)
    artifact = build(bare, host_target())
    assert artifact.parameters[0].name == "arg0"
    assert artifact.sites == {2: Site("store", None, "arg0")}
    assert artifact.rank == 1  # what the body reads counts, whatever the kernel claims


def test_functions_for_the_host_are_no_kernels() -> None:
    m = Make()
    kernel = m.done()
    with pytest.raises(InternalError, match="host"):
        build(Kernel("f", (), kernel.body, results=(f32,)), host_target())


@pytest.mark.parametrize("name", ["block_sync", "shuffle", "vote"])
def test_threads_that_meet_need_a_program_of_blocks(name: str) -> None:
    m = Make()
    m.at(17, 4)
    if name == "block_sync":
        m.emit(name)
    elif name == "shuffle":
        m.op(name, m.const(f32, 1.0), m.const(i32, 0), mode="up")
    else:
        m.emit(name, m.const(b1, True), types=[u32], mode="ballot")
    with pytest.raises(InternalError, match=name):
        build(m.done(), host_target())


def test_work_grows_with_loops() -> None:
    def work(trips: int | None) -> int:
        m = Make(x=A, n=i32)
        i = m.tid()
        one = m.const(i32, 1)
        end = m.n if trips is None else m.const(i32, trips)

        def body(iv: Value) -> list[Value]:
            m.store(m.x, i, m.load(m.x, iv))
            return []

        m.for_(m.const(i32, 0), end, one, [], body)
        return estimate_work(m.done())

    assert work(1000) > 100 * work(2)
    assert work(2) < work(None) < work(1000)
    m = Make(h=u64)
    assert estimate_work(m.done()) >= 1


def test_work_has_64_bits_whatever_loops_say() -> None:
    """Entries are told so many bits of it."""
    m = Make(a=A)
    lo, hi, one = m.const(i64, -(1 << 62)), m.const(i64, 1 << 62), m.const(i64, 1)

    def outer(k: Value) -> list[Value]:
        m.for_(lo, hi, one, [], lambda k: [])
        return []

    m.for_(lo, hi, one, [], outer)
    assert 1 << 32 < estimate_work(m.done()) < 1 << 63


@wp.kernel
def pairs(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    total = 0.0
    for j in range(n):
        total += x[j]
    x[i] = total


@wp.kernel
def triangle(x: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for j in range(2 * i + 1):
        total += x[j]
    x[i] = total


@wp.kernel
def rows_of_triangles(x: wp.array(dtype=float, ndim=2)):
    i, j = wp.tid()
    total = 0.0
    for k in range(i):
        total += x[k, j]
    x[i, j] = total


@wp.kernel
def neighbours(starts: wp.array(dtype=int), x: wp.array(dtype=float)):
    i = wp.tid()
    for j in range(starts[0], starts[1]):
        x[i] = float(j)


@wp.kernel
def collatz(x: wp.array(dtype=int)):
    i = wp.tid()
    n = x[i]
    while n != 1:
        n = n * 3 + 1 if n % 2 else n // 2
    x[i] = n


@wp.kernel
def leaves_early(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in range(n):
        if x[j] > 1.0:
            break
        x[i] = float(j)


@wp.kernel
def counts_down(x: wp.array(dtype=float), n: int):
    k = n
    while k > 0:
        k -= 1
    x[wp.tid()] = float(k)


@wp.kernel
def no_loop(x: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        x[i] = wp.sin(x[i])


@pytest.mark.parametrize(
    ("kernel", "uneven"),
    [
        (pairs, False),
        (triangle, True),
        (rows_of_triangles, True),
        (neighbours, True),
        (collatz, True),
        (leaves_early, True),
        (counts_down, False),
        (no_loop, False),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_threads_are_uneven_where_trips_depend_on_thread_or_memory(
    kernel: Any, uneven: bool
) -> None:
    program = kernel.program(kernel.concrete_types())
    assert is_uneven(program.lowered(Choice())) == uneven
    artifact = program.variant(Choice(unit=True)).artifact
    width = program.widened(Choice(unit=True)).attrs["width"]
    assert artifact.grain == (width if uneven else 0)
