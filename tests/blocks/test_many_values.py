"""Values across barriers that take more memory than the stack of a thread may have."""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heald as wp
from heald.artifact import Fault, FaultKind, abi
from heald.codegen.jit import load_object
from heald.codegen.objects import undefined_symbols
from heald.codegen.support import addresses
from heald.diagnostics import CompileError
from heald.runtime import CPU, packer_of
from heald.runtime.launch import launch

_COUNT = 300
_SOURCE = "\n".join(
    [
        "import heald as wp",
        "@wp.kernel",
        "def keep(a: wp.array(dtype=float)):",
        "    x = a[wp.tid()]",
        *(f"    x{k} = x * {k}.5" for k in range(_COUNT)),
        "    wp.block_sync()",
        f"    a[wp.tid()] = {' + '.join(f'x{k}' for k in range(_COUNT))}",
        "    wp.block_sync()",
        f"    a[wp.tid()] += {' - '.join(f'x{k}' for k in range(_COUNT))}",
    ]
)


@wp.kernel
def buffered(a: wp.array(dtype=float)):
    i = wp.tid()
    own = wp.zeros(1000, dtype=float)
    for k in range(1000):
        own[k] = a[i] * float(k)
    a[i] = own[7] + wp.reduce_sum(own[i]) + own[999 - i]


@wp.kernel
def overflowing(a: wp.array(dtype=float)):
    i = wp.tid()
    own = wp.zeros(5000, dtype=float)
    own[i] = a[i]
    wp.block_sync()
    a[i] = own[i]


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> wp.Kernel:
    (tmp_path / "many_values.py").write_text(_SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "many_values", raising=False)
    made: wp.Kernel = importlib.import_module("many_values").keep
    return made


def left(kernel: wp.Kernel, device: str) -> bytes:
    a = wp.array(np.linspace(-1.0, 3.0, 300).astype(np.float32), device=device)
    wp.launch(kernel, dim=300, inputs=[a], device=device, block_dim=64)
    return a.numpy().tobytes()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_the_same_bits(device: str, keep: wp.Kernel) -> None:
    assert left(keep, device) == left(keep, "sim")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_local_arrays_across_barriers(device: str) -> None:
    """On CPUs a row for each thread that a block may have: 4 MB."""
    assert left(buffered, device) == left(buffered, "sim")


def test_local_arrays_that_are_too_large_across_barriers() -> None:
    with pytest.raises(CompileError, match="keep less alive") as caught:
        wp.launch(overflowing, dim=8, inputs=[wp.zeros(8)], block_dim=8)
    assert caught.value.codes == ("H0410",)


def output_of(folder: Path, text: str) -> str:
    """What a program says that lives to its end."""
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_small_stacks_suffice(tmp_path: Path) -> None:
    told = output_of(
        tmp_path,
        f"{_SOURCE}\n"
        "import threading\n"
        "a = wp.ones(64, dtype=float)\n"
        "keep.prepare()\n"
        "threading.stack_size(320 * 1024)\n"
        "def run():\n"
        "    wp.launch(keep, dim=64, inputs=[a], block_dim=64)\n"
        "    print(a.numpy()[0])\n"
        "thread = threading.Thread(target=run)\n"
        "thread.start()\n"
        "thread.join()\n",
    )
    assert float(told) == sum(k + 0.5 for k in range(_COUNT)) + 0.5 - sum(
        k + 0.5 for k in range(1, _COUNT)
    )


def test_a_range_without_memory_is_a_fault(keep: wp.Kernel) -> None:
    left(keep, "cpu")
    artifact = keep.program(keep.concrete_types(None)).artifact(CPU)
    assert artifact is not None
    assert {"malloc", "free"} <= undefined_symbols(artifact.code)
    asked = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
    def refuse(size: int) -> None:
        asked.append(size)

    place = ctypes.cast(refuse, ctypes.c_void_p).value or 0
    imports = {"malloc": place, "free": place, **addresses(["heald_fault"])}
    (address,), _keepalive = load_object(artifact.code, (artifact.entry,), imports)
    a = wp.array(np.linspace(-1.0, 3.0, 300).astype(np.float32), device="cpu")
    before = a.numpy().tobytes()
    packed = packer_of(artifact).pack([a.ptr, 300, 4])
    outcome = launch(address, artifact, packed, (300,), 64)
    (size,) = asked
    assert outcome.fault == Fault(FaultKind.MEMORY, abi.NO_OP, 0, (size,), (0,))
    assert a.numpy().tobytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="there is no limit to set")
@pytest.mark.parametrize("launches", [1, 4], ids=["careful", "entry"])
def test_a_process_without_memory_lives(tmp_path: Path, launches: int) -> None:
    told = output_of(
        tmp_path,
        "import resource\n"
        "import heald as wp\n"
        "@wp.kernel\n"
        "def turn(a: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n"
        "    own = wp.zeros(2000, dtype=float)\n"
        "    own[i] = a[i]\n"
        "    wp.block_sync()\n"
        "    a[i] = -own[i]\n"
        "a = wp.ones(64, dtype=float)\n"
        "def run():\n"
        "    wp.launch(turn, dim=64, inputs=[a], block_dim=64)\n"
        f"for _ in range({launches}):\n"
        "    run()\n"
        "with open('/proc/self/statm') as file:\n"
        "    used = int(file.read().split()[0]) * resource.getpagesize()\n"
        "limit = resource.getrlimit(resource.RLIMIT_AS)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 20), limit[1]))\n"
        "held = []\n"
        "try:\n"
        "    while True:\n"
        "        held.append(bytearray(1 << 22))\n"
        "except MemoryError:\n"
        "    pass\n"
        "try:\n"
        "    run()\n"
        "    print('nothing')\n"
        "except wp.KernelFault as fault:\n"
        "    print(fault)\n"
        "resource.setrlimit(resource.RLIMIT_AS, limit)\n"
        "run()\n"
        "print(a.numpy()[0])\n",
    )
    error, last = told.rsplit("\n", 2)[0], told.split()[-1]
    assert "error[H0802]: cannot allocate 8,192,064 bytes for what blocks keep across" in error
    assert "program.py:4:" in error
    assert "threads faulted" not in error
    assert float(last) == (-1.0) ** (launches + 1)
