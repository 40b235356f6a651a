"""The prover as a process of its own: ``python -m heald.proof.worker``.

It says hello, then answers one request after another until its input ends.  A crash or an
exhaustion of memory in the solver ends this process only.
"""

from __future__ import annotations

import os
import sys
from typing import IO, Any

from heald.diagnostics import HealdError
from heald.proof.messages import read_message, request_from_json, write_message
from heald.proof.prove import NO_SOLVER, prove
from heald.proof.result import VERSION, to_json

MEMORY = 3 << 30
"""Most bytes of address space."""


def limit_memory(size: int = MEMORY) -> None:
    """Make allocations beyond ``size`` bytes fail, where the system can."""
    try:
        import resource
    except ImportError:  # not a Unix
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    write_message(sink, {"hello": VERSION, "process": os.getpid()})
    while True:
        try:
            message = read_message(source)
        except EOFError:
            return
        try:
            answer: dict[str, Any] = {"proof": to_json(prove(request_from_json(message)))}
        except MemoryError:
            answer = {"error": "memory"}
        except ImportError:
            answer = {"error": NO_SOLVER}
        except (HealdError, AssertionError, RecursionError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        write_message(sink, answer)


def main() -> None:
    """Serve standard input; standard output is kept for answers, whatever else prints."""
    limit_memory()
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
