"""What a child finds that was forked while another thread compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heald.forks import ForkSafeLock

LOCKED = """
import os, threading
from heald.forks import ForkSafeLock

lock, taken, done = ForkSafeLock(), threading.Event(), threading.Event()

def hold():
    with lock:
        taken.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
taken.wait()
child = os.fork()
if child == 0:
    os._exit(7 if lock.acquire(blocking=False) else 1)
assert not lock.acquire(blocking=False)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
done.set()
thread.join()
assert lock.acquire(blocking=False)
"""

COMPILING = """
import gc, os, sys, threading
import heald as wp
import heald.driver.compiler as compiler

@wp.kernel
def twice(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0 * x[wp.tid()]

x = wp.ones(4, dtype=float)
compiling, done, parent = threading.Event(), threading.Event(), os.getpid()
make = compiler.compile_variant

def slowly(*args):
    if os.getpid() == parent:
        compiling.set()
        done.wait()
    return make(*args)

compiler.compile_variant = slowly
thread = threading.Thread(target=wp.launch, args=(twice, 4, [x]))
thread.start()
compiling.wait()
child = os.fork()
if child == 0:
    is_on = gc.isenabled()
    wp.launch(twice, 4, [x])
    os._exit(7 if (x.numpy() == 2).all() and is_on and gc.isenabled() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert not gc.isenabled()
done.set()
thread.join()
assert gc.isenabled()
"""


def _printed(script: str, folder: Path) -> str:
    file = folder / "script.py"
    file.write_text(script)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file)],
        env={**os.environ, "HEALD_CACHE_DIR": str(folder)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", [LOCKED, COMPILING], ids=["lock", "compiling"])
def test_a_forked_child_is_not_held_up(script: str, tmp_path: Path) -> None:
    assert _printed(script, tmp_path) == "7\n"


def test_a_lock_is_for_one() -> None:
    lock = ForkSafeLock()
    with lock:
        assert not lock.acquire(blocking=False)
    assert lock.acquire(blocking=False)
    lock.release()
    assert lock.acquire()
