"""The file form: kernels on disk, in a container that says its version and notices damage.

Layout, little endian::

    8 bytes  magic                       these 44 bytes are laid out alike in every version u16 u16
        major, minor 32 bytes SHA-256 of version and body body     zlib stream

The stream holds ``u32 n``, n metadata pairs, ``u32 m``, m kernels as text with spans; each string
is ``u32 length`` and UTF-8.  A reader accepts its own major with any minor up to its own: a minor
adds what older readers would misread, so nothing is ever skipped.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

from heald.diagnostics import CompileError, Diagnostic
from heald.ir.check import check
from heald.ir.core import Kernel
from heald.ir.parser import parse
from heald.ir.structure import ValueOps
from heald.ir.text import to_text

MAGIC = b"\x89HEALD\r\n"
"""As in PNG: not text, and changed by a transfer that translates line ends."""
FORMAT = (1, 1)
"""1.1 has allocations in shared memory and votes of blocks."""
MAX_SIZE = 1 << 26
"""Most bytes that the body may expand to."""

_VERSION = struct.Struct("<HH")
_COUNT = struct.Struct("<I")
_DIGEST = hashlib.sha256().digest_size
_BODY = len(MAGIC) + _VERSION.size + _DIGEST


@dataclass(frozen=True, slots=True)
class KernelFile:
    """What a file held.

    Attributes:
        kernels: in the order in which they were written; each one has passed ``check``.
        metadata: free text by name, such as who wrote the file.
        version: format version of the file.
    """

    kernels: tuple[Kernel, ...]
    metadata: Mapping[str, str]
    version: tuple[int, int]


def dump_kernels(kernels: Sequence[Kernel], *, metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file with these kernels, their names and their spans.

    Raises:
        CompileError: together they are larger than a reader accepts.
        ValueError: metadata that is not Unicode text (a lone surrogate).
    """
    pairs = [text for item in metadata.items() for text in item]
    texts = [to_text(kernel, spans=True) for kernel in kernels]
    parts = [_COUNT.pack(len(metadata)), *map(_pack, pairs)]
    parts += [_COUNT.pack(len(texts)), *map(_pack, texts)]
    content = b"".join(parts)
    if len(content) > MAX_SIZE:
        raise CompileError(f"kernels of {len(content)} bytes do not fit a file of {MAX_SIZE}")
    return _seal(FORMAT, zlib.compress(content, 9))


def load_kernels(data: bytes, table: ValueOps) -> KernelFile:
    """Read, parse and check what :func:`dump_kernels` wrote.  Any bytes are safe to give.

    Raises:
        CompileError: H0903 for bytes that are damaged or are no kernel file, H0902 for another
            format version, H0901 or H0904 for kernels of a newer or foreign compiler.
    """
    version, body = _unseal(data)
    if version[0] != FORMAT[0] or version[1] > FORMAT[1]:
        found, own = ("{}.{}".format(*v) for v in (version, FORMAT))
        message = f"the file has format {found}; this Heald reads format {own}"
        older = " and older ones of the same major version" if FORMAT[1] else ""
        hint = f"write the file again with this Heald, or read it with one that knows {found}"
        raise CompileError(Diagnostic("H0902", message + older, hint=hint))
    reader = _Reader(_expand(body))
    metadata = {}
    for _ in range(reader.count()):
        key = reader.text()
        metadata[key] = reader.text()
    texts = [reader.text() for _ in range(reader.count())]
    reader.end()
    kernels = []
    for number, text in enumerate(texts):
        kernel = parse(text, table, file=f"<stored kernel {number}>")
        check(kernel, table)
        kernels.append(kernel)
    return KernelFile(tuple(kernels), MappingProxyType(metadata), version)


def _refuse(why: str) -> NoReturn:
    raise CompileError(Diagnostic("H0903", f"no readable kernel file: {why}"))


def _seal(version: tuple[int, int], body: bytes) -> bytes:
    tail = _VERSION.pack(*version)
    return MAGIC + tail + hashlib.sha256(tail + body).digest() + body


def _unseal(data: bytes) -> tuple[tuple[int, int], bytes]:
    """Version and body of a file whose every byte is as it was written."""
    data = bytes(data)
    if data[: len(MAGIC)] != MAGIC:
        _refuse("it does not begin as one")
    if len(data) < _BODY:
        _refuse("it is cut off")
    tail = data[len(MAGIC) : len(MAGIC) + _VERSION.size]
    body = data[_BODY:]
    if hashlib.sha256(tail + body).digest() != data[_BODY - _DIGEST : _BODY]:
        _refuse("its checksum does not match, so some of it was changed or lost")
    major, minor = _VERSION.unpack(tail)
    return (major, minor), body


def _expand(body: bytes) -> bytes:
    """The stream, refused once it is larger than any file may be."""
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(body, MAX_SIZE + 1)
    except zlib.error as error:
        _refuse(f"its content does not unpack ({error})")
    if len(content) > MAX_SIZE:
        _refuse(f"its content is larger than {MAX_SIZE} bytes")
    if not stream.eof or stream.unused_data:
        _refuse("its content is cut off or has something behind it")
    return content


def _pack(text: str) -> bytes:
    encoded = text.encode()
    return _COUNT.pack(len(encoded)) + encoded


class _Reader:
    """Takes counts and strings off a byte string, never past its end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._next = 0

    def _take(self, size: int) -> bytes:
        stop = self._next + size
        if stop > len(self._content):
            _refuse("its content is cut off")
        taken = self._content[self._next : stop]
        self._next = stop
        return taken

    def count(self) -> int:
        number: int = _COUNT.unpack(self._take(_COUNT.size))[0]
        return number

    def text(self) -> str:
        try:
            return self._take(self.count()).decode()
        except UnicodeDecodeError:
            _refuse("it holds something that is not text")

    def end(self) -> None:
        if self._next != len(self._content):
            _refuse("its content has something behind it")
