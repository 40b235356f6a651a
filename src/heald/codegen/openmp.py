"""Sharing the threads of a launch among cores, through whatever OpenMP runtime the process has.

Every OpenMP runtime at hand (GNU's, LLVM's, Intel's) exports ``GOMP_parallel``, so code compiled
here at run time serves all of them, bound by address.  Waiting is passive: a spinning team on a
busy machine turns microseconds into milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from heald.codegen.compile import compile_helper
from heald.codegen.jit import load_object
from heald.codegen.target import host_target

LAUNCHER = "heald_parallel"
SERIAL_ONLY = "heald_serial_only"
"""Symbol of an i32; where it is not 0, the launcher runs everything in the calling thread."""
_SYMBOLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
_MAPPED = re.compile(r"/lib(?:iomp5|omp|gomp)\b[^/]*\.so[.0-9]*$")
_INSTALLED = ("libomp.so.5", "libomp.so", "libiomp5.so", "libgomp.so.1")
_PASSIVE = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
_CHOSEN_BY = ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT")
_BLOCKTIME = ("kmp_get_blocktime", "kmp_set_blocktime")
_GRANULE = 64
_MANY = 16
_PIECES = 16
_ARGUMENTS = "ptr %entry, ptr %header, ptr %args, i64 %total, i32 %cores, i32 %grain"

# A share begins at a multiple of 64 threads, so that two cores do not write to one cache line and
# widened kernels have whole vectors, unless that would leave cores without work.  Quotient and
# remainder keep the product below the total.  Where threads differ in what they have to do, each
# member takes the next piece when it is done with one: a sixteenth of an even share, in whole
# grains.
_TEXT = f"""\
@{SERIAL_ONLY} = global i32 0, align 4
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
%team = type {{ ptr, ptr, ptr, i64, i64, i64 }}

define internal i64 @boundary(i64 %number, i64 %count, i64 %total) alwaysinline nounwind {{
  %share = udiv i64 %total, %count
  %extra = urem i64 %total, %count
  %even = mul i64 %number, %share
  %more = call i64 @llvm.umin.i64(i64 %number, i64 %extra)
  %exact = add i64 %even, %more
  %rounded = and i64 %exact, -{_GRANULE}
  %many = icmp uge i64 %share, {_MANY * _GRANULE}
  %begin = select i1 %many, i64 %rounded, i64 %exact
  %last = icmp eq i64 %number, %count
  %result = select i1 %last, i64 %total, i64 %begin
  ret i64 %result
}}

define internal void @member(ptr %context) nounwind {{
  %team = load %team, ptr %context, align 8
  %entry = extractvalue %team %team, 0
  %header = extractvalue %team %team, 1
  %args = extractvalue %team %team, 2
  %total = extractvalue %team %team, 3
  %number.32 = call i32 @omp_get_thread_num()
  %count.32 = call i32 @omp_get_num_threads()
  %number = zext i32 %number.32 to i64
  %count = zext i32 %count.32 to i64
  %next = add i64 %number, 1
  %begin = call i64 @boundary(i64 %number, i64 %count, i64 %total)
  %end = call i64 @boundary(i64 %next, i64 %count, i64 %total)
  call void %entry(ptr %header, ptr %args, i64 %begin, i64 %end)
  ret void
}}

define internal void @taker(ptr %context) nounwind {{
start:
  %team = load %team, ptr %context, align 8
  %entry = extractvalue %team %team, 0
  %header = extractvalue %team %team, 1
  %args = extractvalue %team %team, 2
  %total = extractvalue %team %team, 3
  %grain = extractvalue %team %team, 4
  %count.32 = call i32 @omp_get_num_threads()
  %count = zext i32 %count.32 to i64
  %pieces = mul i64 %count, {_PIECES}
  %part = udiv i64 %total, %pieces
  %less = sub i64 %grain, 1
  %up = add i64 %part, %less
  %grains = udiv i64 %up, %grain
  %some = call i64 @llvm.umax.i64(i64 %grains, i64 1)
  %piece = mul i64 %some, %grain
  %taken = getelementptr %team, ptr %context, i64 0, i32 5
  br label %next
next:
  %begin = atomicrmw add ptr %taken, i64 %piece monotonic
  %more = icmp ult i64 %begin, %total
  br i1 %more, label %run, label %done
run:
  %ahead = add i64 %begin, %piece
  %end = call i64 @llvm.umin.i64(i64 %ahead, i64 %total)
  call void %entry(ptr %header, ptr %args, i64 %begin, i64 %end)
  br label %next
done:
  ret void
}}

define void @{LAUNCHER}({_ARGUMENTS}) nounwind {{
start:
  %context = alloca %team, align 8
  %forked = load i32, ptr @{SERIAL_ONLY}, align 4
  %serial = icmp ne i32 %forked, 0
  %single = icmp eq i32 %cores, 1
  %alone = or i1 %serial, %single
  br i1 %alone, label %here, label %share
here:
  call void %entry(ptr %header, ptr %args, i64 0, i64 %total)
  ret void
share:
  %t0 = insertvalue %team poison, ptr %entry, 0
  %t1 = insertvalue %team %t0, ptr %header, 1
  %t2 = insertvalue %team %t1, ptr %args, 2
  %t3 = insertvalue %team %t2, i64 %total, 3
  %wide.grain = zext i32 %grain to i64
  %t4 = insertvalue %team %t3, i64 %wide.grain, 4
  %t5 = insertvalue %team %t4, i64 0, 5
  store %team %t5, ptr %context, align 8
  %even = icmp eq i32 %grain, 0
  %way = select i1 %even, ptr @member, ptr @taker
  call void @start_team(ptr %way, ptr %context, i32 %cores)
  ret void
}}
"""
_PLAIN_START = """
define internal void @start_team(ptr %way, ptr %context, i32 %cores) alwaysinline nounwind {
  call void @GOMP_parallel(ptr %way, ptr %context, i32 %cores, i32 0)
  ret void
}
"""
# The time is a setting of the thread that starts a team, which may have other teams too.
_SLEEPY_START = """
declare i32 @kmp_get_blocktime()
declare void @kmp_set_blocktime(i32)
define internal void @start_team(ptr %way, ptr %context, i32 %cores) alwaysinline nounwind {
  %before = call i32 @kmp_get_blocktime()
  call void @kmp_set_blocktime(i32 0)
  call void @GOMP_parallel(ptr %way, ptr %context, i32 %cores, i32 0)
  call void @kmp_set_blocktime(i32 %before)
  ret void
}
"""


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenMP runtime in this process.

    Attributes:
        path: file or name it was loaded from.
        symbols: addresses of what the launcher calls; LLVM's and Intel's have functions that say
            how long idle threads spin.
        survives_fork: a child may use it after its parent did.  GNU's hangs there.
        is_fresh: nobody had loaded it before, so it has no threads yet.
    """

    path: str
    symbols: Mapping[str, int]
    survives_fork: bool
    is_fresh: bool


def parallel_launcher() -> int | None:
    """The address of the launcher, or None without OpenMP.

    It is ``void (ptr entry, ptr header, ptr args, i64 total, i32 cores, i32 grain)``.  It runs the
    threads [0, total) of a launch by calls ``entry(header, args, lo, hi)`` for disjoint ranges on
    at most ``cores`` cores (0: as many as the runtime gives) and returns when all have ended.  Each
    core runs one range; where ``grain`` is not 0, the next short one whenever it is free, of so
    many threads or a multiple of them.  It may be called from any Python thread, without the GIL.
    In a forked child of a process with GNU's runtime it uses the calling thread only.
    """
    with _STATE.lock:
        if not _STATE.resolved:
            _STATE.resolved = True
            provider = find_provider()
            if provider is not None:
                _STATE.start(provider)
        return _STATE.address


def find_provider() -> Provider | None:
    """A runtime that the process has already, else one that is installed, LLVM's before GNU's."""
    for path in mapped_runtimes():
        provider = _open(path, is_fresh=False)
        if provider is not None:
            return provider
    with _passive_waiting():
        for name in _INSTALLED:
            provider = _open(name, is_fresh=True)
            if provider is not None:
                return provider
    return None


def mapped_runtimes() -> list[str]:
    """Files of OpenMP runtimes that this process has loaded, those that survive a fork first."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[-1] for line in maps.splitlines() if "/" in line}
    found = sorted(path for path in paths if _MAPPED.search(path))
    return sorted(found, key=lambda path: "gomp" in Path(path).name)


def _open(name: str, *, is_fresh: bool) -> Provider | None:
    """The runtime of a file, or None where it cannot be loaded or lacks a symbol."""
    try:
        library = ctypes.CDLL(name)
        sleepy = all(hasattr(library, name) for name in _BLOCKTIME)
        symbols = {
            symbol: ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
            for symbol in (*_SYMBOLS, *(_BLOCKTIME if sleepy else ()))
        }
        # LLVM's runtime reads its settings at the first call, GNU's when it is loaded.
        library.omp_get_max_threads()
    except (OSError, AttributeError):
        return None
    return Provider(name, symbols, sleepy, is_fresh)


def launcher_text(provider: Provider) -> str:
    """The launcher for a runtime, without the header of its module.

    Idle threads of LLVM's and Intel's sleep at once, unless the user chose how they wait.
    """
    chosen = any(name in os.environ for name in _CHOSEN_BY)
    sleepy = not chosen and all(name in provider.symbols for name in _BLOCKTIME)
    return _TEXT + (_SLEEPY_START if sleepy else _PLAIN_START)


@contextlib.contextmanager
def _passive_waiting() -> Iterator[None]:
    """A runtime loaded meanwhile lets idle threads sleep, unless the user chose how to wait."""
    if any(name in os.environ for name in _CHOSEN_BY):
        yield
        return
    os.environ.update(_PASSIVE)
    try:
        yield
    finally:
        for name in _PASSIVE:
            os.environ.pop(name, None)


class _State:
    """The launcher of this process: it is made once and never replaced."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.resolved = False
        self.address: int | None = None
        self._code: object = None
        self._serial_only: ctypes.c_int32 | None = None
        self._forked = False
        self._survives_fork = False

    def start(self, provider: Provider) -> None:
        """Compile and bind the launcher."""
        target = host_target()
        code = compile_helper(target.header + launcher_text(provider), target)
        names = (LAUNCHER, SERIAL_ONLY)
        (self.address, flag), self._code = load_object(code, names, provider.symbols)
        self._serial_only = ctypes.c_int32.from_address(flag)
        self._survives_fork = provider.survives_fork
        if self._forked and not provider.is_fresh:
            self._forbid_teams()

    def after_fork(self) -> None:
        """In the child: the threads of the team are gone."""
        self._forked = True
        self._forbid_teams()
        self.lock.release()

    def _forbid_teams(self) -> None:
        if self._serial_only is not None and not self._survives_fork:
            self._serial_only.value = 1


_STATE = _State()
os.register_at_fork(
    before=_STATE.lock.acquire,
    after_in_parent=_STATE.lock.release,
    after_in_child=_STATE.after_fork,
)
