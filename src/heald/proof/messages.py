"""What goes through the pipes between a process and its prover: lengths and JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

from heald.artifact.serialise import from_plain, to_plain
from heald.ir import parse, to_text
from heald.ops import TABLE
from heald.proof.conditions import Clause
from heald.proof.context import Request
from heald.proof.contracts import Promises

_HEAD = struct.Struct("<I")
_MOST = 1 << 28


def write_message(stream: IO[bytes], message: Mapping[str, Any]) -> None:
    """Send one message."""
    data = json.dumps(message).encode()
    stream.write(_HEAD.pack(len(data)) + data)
    stream.flush()


def read_message(stream: IO[bytes]) -> dict[str, Any]:
    """Receive one message.

    Raises:
        EOFError: the other side is gone.
        ValueError: these bytes are no message.
    """
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    (size,) = _HEAD.unpack(head)
    if size > _MOST:
        raise ValueError(f"a message of {size} bytes")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    message = json.loads(data)
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message


def request_to_json(request: Request) -> dict[str, Any]:
    """A request as JSON values; op ids survive, spans do not."""
    return {
        "kernel": to_text(request.kernel),
        "given": to_plain(request.given),
        "infer": request.infer,
        "properties": list(request.properties),
        "intervals": request.intervals,
        "seek": request.seek,
        "promises": to_plain(request.promises),
    }


def request_from_json(data: Mapping[str, Any]) -> Request:
    """The request that :func:`request_to_json` wrote."""
    return Request(
        parse(data["kernel"], TABLE),
        from_plain(tuple[Clause, ...], data["given"]),
        data["infer"],
        tuple(data["properties"]),
        data["intervals"],
        data["seek"],
        from_plain(Promises, data["promises"]),
    )
