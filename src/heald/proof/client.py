"""The other end of a prover process."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO, Any

from heald.proof.context import Request
from heald.proof.messages import read_message, request_to_json, write_message
from heald.proof.result import VERSION, Proof, from_json

HELLO_SECONDS = 30.0
ANSWER_SECONDS = 600.0
"""A net only: the prover counts its steps and ends by itself, much sooner."""


class Unavailable(Exception):
    """No prover process can be started, or the one there was is gone."""


class Gave(Exception):
    """The prover gave up; the message says why."""


class Worker:
    """A running prover process.  One request at a time; callers of other threads wait.

    Raises:
        Unavailable: processes are forbidden here, or the new one does not answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "heald.proof.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        except (OSError, ValueError) as error:
            raise Unavailable(str(error)) from None
        try:
            hello = self._read(HELLO_SECONDS)
        except (EOFError, ValueError, TimeoutError) as error:
            self.close()
            raise Unavailable(f"the prover process does not answer ({error})") from None
        if hello.get("hello") != VERSION:
            self.close()
            raise Unavailable("the prover process is of another version")

    @property
    def is_alive(self) -> bool:
        """Does the process still run?"""
        return self._process.poll() is None

    def prove(self, request: Request, *, seconds: float = ANSWER_SECONDS) -> Proof:
        """Ask the process.

        Raises:
            Gave: it needed too much memory or time.
            Unavailable: it is gone.
        """
        with self._lock:
            try:
                write_message(self._sink(), request_to_json(request))
                answer = self._read(seconds)
            except TimeoutError:
                self.close()
                raise Gave(f"more than {seconds:.0f} seconds") from None
            except (EOFError, OSError, ValueError) as error:
                self.close()
                raise Unavailable(f"the prover process ended ({error})") from None
        if "error" in answer:
            raise Gave(str(answer["error"]))
        return from_json(answer["proof"])

    def close(self) -> None:
        """End the process."""
        process = self._process
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # what was still to be sent has no reader any more
                    stream.close()

    def _sink(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _read(self, seconds: float) -> dict[str, Any]:
        source = self._process.stdout
        assert source is not None
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready, _, _ = select.select([source], [], [], left)
            if ready:
                return read_message(source)
