"""The others: C++ compiled here and now, and Python packages in an environment of their own."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.timing import PeerError, Times

SOURCE = Path(__file__).parent / "cpp" / "peers.cpp"
SERVER = Path(__file__).parent / "peer_server.py"
FLAGS = ("-O3", "-march=native", "-fopenmp", "-fPIC", "-std=c++17")


class Cpp:
    """The functions of ``peers.cpp``: ``plain`` is -O3, ``fast`` is -O3 -ffast-math.

    Both are linked without -ffast-math: a library linked with it would make this whole process
    flush subnormal numbers to zero.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        compiler = shutil.which("g++")
        if compiler is None:
            raise FileNotFoundError("g++ is not installed")
        said = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True)
        self.version = said.stdout.splitlines()[0]
        self.plain = _compiled(compiler, folder / "plain", FLAGS)
        self.fast = _compiled(compiler, folder / "fast", (*FLAGS, "-ffast-math"))
        self.set_threads(threads)

    def set_threads(self, count: int) -> None:
        """How many threads the following calls share their work among."""
        for library in (self.plain, self.fast):
            library.set_threads(ctypes.c_int32(count))


def _compiled(compiler: str, stem: Path, flags: tuple[str, ...]) -> ctypes.CDLL:
    code, library = stem.with_suffix(".o"), stem.with_suffix(".so")
    for command in (
        [compiler, *flags, "-c", str(SOURCE), "-o", str(code)],
        [compiler, "-shared", "-fopenmp", str(code), "-o", str(library)],
    ):
        subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def bind(function: Any, *arguments: Any) -> Callable[[], object]:
    """A call of a C function; ints are int64, floats float32, arrays pointers to their data."""
    converted = [_converted(a) for a in arguments]

    def call() -> None:
        function(*converted)

    call.__dict__["arguments"] = arguments  # they must live as long as the call
    return call


def _converted(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, np.int32):
        return ctypes.c_int32(int(argument))
    return ctypes.c_float(argument) if isinstance(argument, float) else ctypes.c_int64(argument)


class PythonPeers:
    """numba and Warp in another interpreter, which waits for orders between its turns."""

    def __init__(self, python: str, folder: Path, threads: int) -> None:
        self._folder = folder
        self.threads = threads
        environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads), "NUMBA_CACHE_DIR": ""}
        environment.pop("PYTHONPATH", None)
        self._process = subprocess.Popen(
            [python, str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.versions: dict[str, str] = self.ask(order="versions")

    def ask(self, **order: Any) -> Any:
        """The answer to an order.

        Raises:
            PeerError: the peer failed; the message says how.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the peer process ended with {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer["answer"]

    def way(
        self,
        package: str,
        case: str,
        arrays: Mapping[str, npt.NDArray[Any]],
        scalars: Mapping[str, float],
    ) -> Remote:
        """How ``package`` does ``case`` with these inputs."""
        path = self._folder / f"{case}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        order = {"package": package, "case": case, "path": str(path), "scalars": dict(scalars)}
        return Remote(self, order, self._folder / f"{package}-{case}.npy")

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Remote:
    """A way in the other interpreter, which takes the times itself."""

    peers: PythonPeers
    order: Mapping[str, Any]
    path: Path

    @property
    def threads(self) -> int:
        """numba shares its work; Warp on a CPU works in one thread."""
        return self.peers.threads if self.order["package"] == "numba" else 1

    @property
    def name(self) -> str:
        """What the server calls it."""
        return f"{self.order['package']} {self.order['case']}"

    def run(self) -> None:
        """Do it once."""
        self.sample(1)

    def result(self) -> npt.NDArray[Any]:
        """What it computed."""
        self.peers.ask(order="result", name=self.name, path=str(self.path))
        found: npt.NDArray[Any] = np.load(self.path)
        return found

    def sample(self, repeats: int) -> Times:
        """The mean of several calls.

        Raises:
            PeerError: the package failed.
        """
        wall, cpu = self.peers.ask(**self.order, order="sample", name=self.name, repeats=repeats)
        return wall, cpu
