"""Every op of WIR is either compiled or refused with a reason."""

import pytest
from strategies import signatures
from unit.codegen.harness import Make

from heald.codegen import host_target, llvm_text
from heald.diagnostics import InternalError
from heald.ir import ATOMICS, STRUCTURAL, Kernel, walk
from heald.ops import TABLE
from heald.types import Array, Vector, b1, f32, i32, i64, u64

pytestmark = pytest.mark.cpu

COMPOSITES = {"compose", "insert"}
BLOCK = {"block_sync", "shuffle", "vote"}


def kernel_with_everything() -> Kernel:
    """Each structural op, and each value op that is more than a function of its operands."""
    m = Make(x=Array(i32, 1), v=Vector(f32, 2), h=u64)
    i = m.tid()
    one, true = m.const(i32, 1), m.const(b1, True)
    m.emit("launch_dim", types=[i32], axis=0)
    m.emit("dim", m.x, types=[i32], axis=0)
    m.emit("stride", m.x, types=[i64], axis=0)
    m.emit("extract", m.v, types=[f32], leaf=1)
    m.emit("subview", m.x, one, one, one, types=[Array(i32, 1)], axes="s")
    m.emit("alloc", types=[Array(i32, 1, "local", (2,))])
    m.store(m.x, i, m.load(m.x, i))
    for kind in (name.removeprefix("atomic_") for name in sorted(ATOMICS)):
        m.atomic(kind, m.x, i, *([one] * (2 if kind == "cas" else 1)))
    for name in ("block_dim", "thread_index", "block_index", "lane"):
        m.op(name, type=i32)
    m.emit("resource_scalar", m.h, types=[i32], kind=1, slot=0)
    m.emit("resource_array", m.h, types=[Array(f32, 1)], kind=1, slot=0)
    m.emit("printf", i, text="%d", kinds="i32")
    m.emit("assert", true, message="always")
    m.emit("assume", true)

    def body(iv):
        m.if_(true, lambda: m.leave("break"), lambda: m.leave("continue"))
        return m.leave("unreachable")

    m.for_(one, i, one, [], body)
    m.while_([], lambda: [true], list)
    m.scope([], lambda: m.leave("return"))
    return m.done()


def test_every_op_is_compiled_or_refused() -> None:
    kernel = kernel_with_everything()
    assert "define void @entry" in llvm_text(kernel, entry="entry", target=host_target())
    compiled = {op.name for op in walk(kernel.body)}
    assert set(STRUCTURAL) == (compiled & set(STRUCTURAL)) | COMPOSITES | {"block_sync", "threads"}
    functions = {name for name in TABLE if signatures(name)}
    assert set(TABLE) == functions | (compiled - set(STRUCTURAL)) | {"shuffle", "vote"}


@pytest.mark.parametrize("name", sorted(COMPOSITES | BLOCK))
def test_what_is_not_compiled_says_why(name: str) -> None:
    m = Make(v=Vector(f32, 1))
    x = m.const(f32, 1.0)
    match name:
        case "compose":
            m.emit(name, x, types=[Vector(f32, 1)])
        case "insert":
            m.emit(name, m.v, x, types=[Vector(f32, 1)], leaf=0)
        case "shuffle":
            m.op(name, x, m.const(i32, 0), mode="xor")
        case "vote":
            m.op(name, m.const(b1, True), mode="any")
        case _:
            m.emit(name)
    with pytest.raises(InternalError, match=r"scalarise|outside of a program of blocks"):
        llvm_text(m.done(), entry="entry", target=host_target())
