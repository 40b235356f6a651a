"""What an object file refers to: a small reader of 64-bit little-endian ELF."""

from __future__ import annotations

import struct

from heald.diagnostics import InternalError

_MAGIC = b"\x7fELF\x02\x01"
_SYMBOL_TABLE = 2
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SECTIONS_AT, _SECTION_SIZE_AT, _SECTION_COUNT_AT = 40, 58, 60


def undefined_symbols(code: bytes) -> frozenset[str]:
    """Symbols that an object refers to and does not define.

    Raises:
        InternalError: the bytes are no such object.
    """
    if not code.startswith(_MAGIC):
        raise InternalError("compiled code is no ELF object")
    try:
        return frozenset(_undefined(code))
    except (struct.error, ValueError, IndexError) as error:
        raise InternalError(f"compiled code is corrupt: {error}") from error


def _undefined(code: bytes) -> list[str]:
    (start,) = struct.unpack_from("<Q", code, _SECTIONS_AT)
    (size,) = struct.unpack_from("<H", code, _SECTION_SIZE_AT)
    (count,) = struct.unpack_from("<H", code, _SECTION_COUNT_AT)
    sections = [_SECTION.unpack_from(code, start + n * size) for n in range(count)]
    found = []
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for at in range(offset, offset + length, _SYMBOL.size):
            name, _, _, section, _, _ = _SYMBOL.unpack_from(code, at)
            if name and section == 0:
                end = code.index(b"\0", names + name)
                found.append(code[names + name : end].decode())
    return found
