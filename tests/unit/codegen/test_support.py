"""The functions that kernels call in the cold, in a process that has none of them yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu

TOGETHER = """
import threading
import heald as wp

@wp.kernel
def first(a: wp.array(dtype=int)):
    a[wp.tid()] = 1

@wp.kernel
def second(a: wp.array(dtype=int)):
    a[wp.tid()] = 2

faults, gate = [], threading.Barrier(2)

def work(kernel):
    a = wp.zeros(5, dtype=int)
    gate.wait()
    for _ in range(3):
        try:
            wp.launch(kernel, dim=9, inputs=[a])
        except wp.KernelFault as error:
            faults.append(error)

threads = [threading.Thread(target=work, args=(kernel,)) for kernel in (first, second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(faults), "faults")
"""


def test_threads_that_need_them_at_once_share_them(tmp_path: Path) -> None:
    """Both would make them, and those of one be unloaded under its kernel."""
    script = tmp_path / "together.py"
    script.write_text(TOGETHER, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "6 faults\n"), done.stderr
