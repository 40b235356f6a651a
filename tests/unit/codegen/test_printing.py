"""Print records: their words, their order within a thread, a full buffer."""

import numpy as np
import pytest
from unit.codegen.harness import Launch, Make, compiled, run

from heald.artifact import PrintFormat
from heald.codegen import parallel_launcher
from heald.types import SCALARS, Array, Scalar, bf16, i32
from heald.types.descriptors import to_bfloat16

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("t", SCALARS, ids=str)
def test_a_payload_is_the_bits_of_the_value(t: Scalar) -> None:
    m = Make(x=Array(t, 1))
    i = m.tid()
    m.emit("printf", m.load(m.x, i), i, text="%v %v", kinds=f"{t},i32")
    kernel = m.done()
    values = {"b": [1, 0], "i": [-2, 5], "u": [200, 5], "f": [-1.5, np.inf]}[t.kind]
    x = to_bfloat16(np.float32(values)) if t is bf16 else np.array(values).astype(t.carrier)
    result = run(kernel, 2, x)
    bits = x.view(f"u{x.itemsize}").tolist()
    op = next(iter(compiled(kernel)[0].formats))
    wanted = [(0, 0, op, bits[0], 0), (1, 0, op, bits[1], 1)]
    unsigned = [tuple(word % (1 << 64) for word in record) for record in result.printed]
    assert unsigned == wanted


def test_a_thread_numbers_its_prints() -> None:
    m = Make()
    i = m.tid()
    one = m.const(i32, 1)

    def body(iv):
        m.emit("printf", iv, text="step %d", kinds="i32")
        return []

    m.for_(m.const(i32, 0), i, one, [], body)
    m.emit("printf", text="done", kinds="")
    kernel = m.done()
    artifact, _ = compiled(kernel)
    step, done = sorted(artifact.formats)
    assert artifact.formats[step] == PrintFormat("step %d", ("i32",))
    assert artifact.formats[done] == PrintFormat("done", ())
    assert run(kernel, 3).printed == [
        (0, 0, done), (1, 0, step, 0), (1, 1, done), (2, 0, step, 0), (2, 1, step, 1), (2, 2, done),
    ]  # fmt: skip


def test_a_full_buffer_keeps_the_first_records_and_counts_the_rest() -> None:
    m = Make()
    i = m.tid()
    m.emit("printf", i, text="%d", kinds="i32")
    result = run(m.done(), 10, print_capacity=3 * 32 + 24)
    assert [record[0] for record in result.printed] == [0, 1, 2]
    assert result.dropped == 7


def test_threads_of_a_team_share_the_buffer() -> None:
    launcher = parallel_launcher()
    if launcher is None:
        pytest.skip("no OpenMP runtime")
    m = Make()
    m.emit("printf", m.tid(), text="%d", kinds="i32")
    launch = Launch(m.done(), (300,), (), print_capacity=250 * 32)
    launch.share(launcher, 4)
    result = launch.result()
    threads = [record[0] for record in result.printed]
    assert len(set(threads)) == 250
    assert all(record[3] == record[0] for record in result.printed)
    assert result.dropped == 50
