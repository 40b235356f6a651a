"""Artifacts as bytes.

An artifact is written in two parts: its *code*, which depends on the content of a kernel only, and
its *source map*, which names parameters and places of the source.  A kernel that moves in its file
or renames a local keeps its code and gets another map.

Both are JSON; the machine code follows the first.  Records become lists of their fields, and are
read by the types that the fields declare: whatever does not fit exactly is refused, so nothing but
an artifact comes out of any bytes.  That no bit was changed is the store's task to find out.
"""

from __future__ import annotations

import json
import struct
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any

from heald.artifact.records import Artifact, Site
from heald.diagnostics import Span
from heald.types import BY_NAME, Scalar

FORMAT = 4
"""Raised when the same records would be written in another way."""

_LENGTH = struct.Struct("<I")


class Unreadable(ValueError):
    """The bytes are no artifact, or one that another version wrote."""


@dataclass(frozen=True, slots=True)
class SourceMap:
    """What of an artifact speaks of the source: names of parameters, sites by op id."""

    names: tuple[str, ...]
    sites: dict[int, Site]


def encode_code(artifact: Artifact) -> bytes:
    """Everything that depends on the content of the kernel only."""
    nameless = tuple(replace(parameter, name="") for parameter in artifact.parameters)
    bare = replace(artifact, code=b"", parameters=nameless, sites={})
    head = _dump([FORMAT, to_plain(bare)])
    return _LENGTH.pack(len(head)) + head + artifact.code


def encode_source_map(artifact: Artifact) -> bytes:
    """The names of parameters, and the sites with their places."""
    table = SpanTable()
    names = [parameter.name for parameter in artifact.parameters]
    sites = [[n, s.op, table.add(s.span), s.subject] for n, s in artifact.sites.items()]
    return _dump([FORMAT, names, table.files, table.rows, sites])


def decode_code(data: bytes) -> Artifact:
    """The artifact without its source map.

    Raises:
        Unreadable: these bytes are none.
    """
    try:
        (length,) = _LENGTH.unpack_from(data)
        start = _LENGTH.size + length
        (bare,) = _load(data[_LENGTH.size : start], 1)
        artifact: Artifact = from_plain(Artifact, bare)
        return replace(artifact, code=data[start:])
    except _UNREADABLE as error:
        raise Unreadable(f"no readable code: {error}") from error


def decode_source_map(data: bytes) -> SourceMap:
    """The source map of :func:`encode_source_map`.

    Raises:
        Unreadable: these bytes are none.
    """
    try:
        names, files, rows, sites = _load(data, 4)
        spans = read_spans(files, rows)
        places = {_integer(n): _site(spans, *rest) for n, *rest in _list(sites)}
        return SourceMap(from_plain(tuple[str, ...], names), places)
    except _UNREADABLE as error:
        raise Unreadable(f"no readable source map: {error}") from error


def with_source_map(artifact: Artifact, places: SourceMap) -> Artifact:
    """The artifact with these names and sites.

    Raises:
        Unreadable: they belong to another kernel.
    """
    if len(artifact.parameters) != len(places.names):
        raise Unreadable("code and source map are of two kernels")
    named = zip(artifact.parameters, places.names, strict=True)
    parameters = tuple(replace(parameter, name=name) for parameter, name in named)
    return replace(artifact, parameters=parameters, sites=places.sites)


_UNREADABLE = (ValueError, TypeError, IndexError, struct.error, RecursionError)


def _dump(plain: Any) -> bytes:
    return json.dumps(plain, separators=(",", ":")).encode()


def _load(data: bytes, count: int) -> list[Any]:
    """The parts after the format number."""
    plain = json.loads(data.decode("ascii"))
    if not isinstance(plain, list) or len(plain) != count + 1 or plain[0] != FORMAT:
        raise Unreadable("another format")
    return plain[1:]


# -- records ---------------------------------------------------------------------------------------


def to_plain(value: Any) -> Any:
    """A value of frozen records, enumerations, tuples and numbers as JSON can hold it.

    Equal values of one type have equal forms and no others have.
    """
    match value:
        case Scalar():
            return value.name
        case Enum():
            return value.value
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            if value:
                raise TypeError("bytes have no place here")
            return None
        case frozenset():
            return sorted(map(to_plain, value))
        case tuple() | list():
            return [to_plain(item) for item in value]
        case dict():
            return [[to_plain(key), to_plain(item)] for key, item in value.items()]
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__name__} has no plain form")
    return [type(value).__name__, *(to_plain(getattr(value, f.name)) for f in fields(value))]


def from_plain(hint: Any, plain: Any) -> Any:
    """The value of type ``hint`` that :func:`to_plain` wrote.

    Raises:
        ValueError, TypeError: there is none.
    """
    return _reader(hint)(plain)


Reader = Callable[[Any], Any]


@cache
def _reader(hint: Any) -> Reader:
    """What reads values of a type; the types of fields are looked into when they are first read."""
    exact = _EXACT.get(hint)
    if exact is not None:
        return exact
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is tuple and arguments[-1:] != (...,):
        readers = [_reader(a) for a in arguments]
        return lambda plain: tuple(
            [read(item) for read, item in zip(readers, _list(plain), strict=True)]
        )
    if origin in (tuple, list, frozenset):
        element = _reader(arguments[0])
        return lambda plain: origin(map(element, _list(plain)))
    if origin is dict:
        pair = _reader(tuple[arguments])  # type: ignore[valid-type]
        return lambda plain: dict(map(pair, _list(plain)))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return typing.cast("Reader", hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return _record(hint)
    raise TypeError(f"{hint} has no plain form")


def _union(members: tuple[Any, ...]) -> Reader:
    """One of several records, told apart by name; or nothing."""
    records = [m for m in members if is_dataclass(m) and isinstance(m, type)]
    named = {m.__name__: _reader(m) for m in records}
    empty = type(None) in members
    (other,) = [m for m in members if m is not type(None) and not is_dataclass(m)] or [None]
    rest = None if other is None else _reader(other)

    def read(plain: Any) -> Any:
        if plain is None and empty:
            return None
        if isinstance(plain, str) and Scalar in members:
            return _scalar(plain)
        if isinstance(plain, list) and plain and plain[0] in named:
            return named[plain[0]](plain)
        if rest is None:
            raise Unreadable(f"{plain!r} is none of {', '.join(named)}")
        return rest(plain)

    return read


def _record(cls: type) -> Reader:
    readers: list[Reader] = []

    def read(plain: Any) -> Any:
        nonlocal readers
        if not readers:
            known = typing.get_type_hints(cls)
            readers = [_reader(known[f.name]) for f in fields(cls)]
        name, *values = _list(plain)
        if name != cls.__name__:
            raise Unreadable(f"{name!r} is no {cls.__name__}")
        return cls(*[read(value) for read, value in zip(readers, values, strict=True)])

    return read


def _scalar(plain: Any) -> Scalar:
    return BY_NAME[plain] if plain in BY_NAME else _refuse(plain)


def _integer(plain: Any) -> int:
    return plain if type(plain) is int and -_WORD <= plain < _WORD else _refuse(plain)


_WORD = 1 << 63


def _text(plain: Any) -> str:
    return plain if isinstance(plain, str) else _refuse(plain)


def _flag(plain: Any) -> bool:
    return plain if isinstance(plain, bool) else _refuse(plain)


def _float(plain: Any) -> float:
    return plain if isinstance(plain, float) else _refuse(plain)


def _no_bytes(plain: Any) -> bytes:
    return b"" if plain is None else _refuse(plain)


def _list(plain: Any) -> list[Any]:
    return plain if isinstance(plain, list) else _refuse(plain)


def _refuse(plain: Any) -> typing.NoReturn:
    raise Unreadable(f"{plain!r} cannot stand here")


_EXACT: dict[Any, Reader] = {
    Scalar: _scalar,
    int: _integer,
    str: _text,
    bool: _flag,
    float: _float,
    bytes: _no_bytes,
}

# -- places ----------------------------------------------------------------------------------------


class SpanTable:
    """Spans as rows of numbers; a call stands before what it inlined, and row 0 is no span."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.rows: list[list[int]] = []
        self._numbers: dict[Span | None, int] = {None: 0}
        self._file_numbers: dict[str, int] = {}

    def add(self, span: Span | None) -> int:
        """The row of a span."""
        if span is not None and span not in self._numbers:
            for outer in reversed(list(span.chain())):
                if outer not in self._numbers:
                    self.rows.append(self._row(outer))
                    self._numbers[outer] = len(self.rows)
        return self._numbers[span]

    def _row(self, span: Span) -> list[int]:
        file = self._file_numbers.setdefault(span.file, len(self.files))
        if file == len(self.files):
            self.files.append(span.file)
        call = self._numbers[span.inlined_at]
        return [file, span.line, span.col, span.end_line, span.end_col, call]


def read_spans(files: Any, rows: Any) -> list[Span | None]:
    """The spans of a table, by row.

    Raises:
        ValueError, IndexError: it is none.
    """
    names = from_plain(tuple[str, ...], files)
    spans: list[Span | None] = [None]
    for row in _list(rows):
        file, line, col, end_line, end_col, call = map(_index, _list(row))
        spans.append(Span(names[file], line, col, end_line, end_col, spans[call]))
    return spans


def _index(plain: Any) -> int:
    return plain if type(plain) is int and plain >= 0 else _refuse(plain)


def _site(spans: list[Span | None], op: Any, span: Any, subject: Any) -> Site:
    return Site(_text(op), spans[_index(span)], _text(subject))
