"""The folder of the kernel cache: entries by key, written whole, read only when every bit is right.

Layout: ``<kernel_cache_dir>/heald-<user>/<first two digits of the key>/<other digits>.<kind>``.  An
entry is::

    8 bytes   magic
    32 bytes  SHA-256 of kind, key and content
    content

Nothing here raises because of the folder: what cannot be read is absent, what cannot be written is
not kept.  Entries are code that will run, so a folder that somebody else owns or may write to is
not used.  Each user has one of their own, so that several can share a ``kernel_cache_dir``.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from heald.config import config

MAX_ENTRY = 1 << 26
"""Most bytes of one entry."""

_MAGIC = b"\x89HEALDC\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_SHARDS = 256
_TRIM_EVERY = 16  # one in so many small writes to a shard trims it, and every larger one
_KEEP = 0.75  # of a shard's share of the limit, after trimming
_STALE = 3600.0  # seconds after which a half-written file has no writer, and a read renews an age
_NUMBERS = itertools.count()
_ENTRY = re.compile(r"[0-9a-f]{62}\.[a-z]+")
_PARTIAL = re.compile(r"\.partial-[0-9a-z-]+")
_SHARD = re.compile(r"[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Store:
    """The entries under one ``kernel_cache_dir`` that belong to this user.

    Attributes:
        folder: of this user; it need not exist.
        limit: most bytes of all entries together, roughly.
    """

    folder: str
    limit: int

    def get(self, kind: str, key: str) -> bytes | None:
        """The content of an entry; None where there is none, or it is damaged."""
        path = self._path(kind, key)
        try:
            data = _read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            note(f"cannot read {path}: {error}")
            return None
        content = data[_HEAD:]
        if data[:_HEAD] != _MAGIC + _digest(kind, key, content):
            note(f"{path} is damaged and is not used")
            return None
        return content

    def put(self, kind: str, key: str, content: bytes) -> None:
        """Keep an entry.  A reader finds all of it or nothing, whenever this process dies."""
        share = self.limit // _SHARDS
        if len(content) > MAX_ENTRY or len(content) + _HEAD > share:
            return
        path = self._path(kind, key)
        try:
            self._write(path, _MAGIC + _digest(kind, key, content) + content)
            if int(key[2:4], 16) % _TRIM_EVERY == 0 or len(content) * _TRIM_EVERY > share:
                self._trim(os.path.dirname(path))
        except OSError as error:
            note(f"cannot write {path}: {error}")

    def clear(self) -> None:
        """Remove every entry; files that are none stay."""
        for shard in _scan(self.folder):
            if _SHARD.fullmatch(shard.name):
                for file in _scan(shard.path):
                    if _ENTRY.fullmatch(file.name) or _PARTIAL.fullmatch(file.name):
                        _remove(file.path)
                _remove_folder(shard.path)
        _remove_folder(self.folder)

    def _path(self, kind: str, key: str) -> str:
        return f"{self.folder}/{key[:2]}/{key[2:]}.{kind}"

    def _write(self, path: str, data: bytes) -> None:
        shard = os.path.dirname(path)
        partial = f"{shard}/.partial-{os.getpid()}-{next(_NUMBERS)}-{time.time_ns():x}"
        try:
            file = _create(partial)
        except FileNotFoundError:
            if not self._make(shard):
                return
            file = _create(partial)
        try:
            try:
                _write_all(file, data)
            finally:
                os.close(file)
            os.replace(partial, path)
        except BaseException:
            _remove(partial)
            raise

    def _make(self, shard: str) -> bool:
        """Make the folder of a shard; False where the user's folder is not ours alone."""
        os.makedirs(os.path.dirname(self.folder), exist_ok=True)
        for folder in (self.folder, shard):
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        return _is_private(self.folder)

    def _trim(self, shard: str) -> None:
        """Remove the entries of a shard that were not used for longest, where it has too many."""
        now = time.time()
        share = self.limit // _SHARDS
        entries = []
        for file in _scan(shard):
            try:
                info = file.stat(follow_symlinks=False)
            except OSError:
                continue
            if _PARTIAL.fullmatch(file.name) and now - info.st_mtime > _STALE:
                _remove(file.path)
            elif _ENTRY.fullmatch(file.name):
                entries.append((info.st_mtime, info.st_size, file.path))
        total = sum(size for _, size, _ in entries)
        if total <= share:
            return
        for _, size, path in sorted(entries):
            _remove(path)
            total -= size
            if total <= share * _KEEP:
                break


def open_store() -> Store | None:
    """The store of ``config.kernel_cache_dir`` as it is now; None where there shall be none."""
    if not config.kernel_cache_dir or config.kernel_cache_size <= 0:
        return None
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    try:
        root = os.path.abspath(os.path.expanduser(config.kernel_cache_dir))
        store = Store(f"{root}/heald-{user}", config.kernel_cache_size)
        private = _is_private(store.folder)
    except (OSError, ValueError) as error:  # no working folder; a name that no file can have
        note(f"{config.kernel_cache_dir!r} cannot be used: {error}")
        return None
    if not private:
        note(f"{store.folder} is not a folder of this user alone and is not used")
        return None
    return store


def store_contents(store: Store) -> tuple[int, int]:
    """How many entries a store has, and their bytes."""
    sizes = []
    for shard in _scan(store.folder):
        for file in _scan(shard.path) if _SHARD.fullmatch(shard.name) else ():
            if _ENTRY.fullmatch(file.name):
                with suppress(OSError):
                    sizes.append(file.stat(follow_symlinks=False).st_size)
    return len(sizes), sum(sizes)


def note(message: str) -> None:
    """A line on standard error, where ``config.verbose`` asks for them."""
    if config.verbose:
        sys.stderr.write(f"heald: kernel cache: {message}\n")


def _digest(kind: str, key: str, content: bytes) -> bytes:
    made = hashlib.sha256(f"{kind} {key}\n".encode())
    made.update(content)
    return made.digest()


def _is_private(folder: str) -> bool:
    """Does a folder belong to this user, who alone may write to it?  One that is missing does."""
    try:
        info = os.lstat(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if not stat.S_ISDIR(info.st_mode):
        return False
    return not hasattr(os, "getuid") or (info.st_uid == os.getuid() and not info.st_mode & 0o022)


def _read(path: str) -> bytes:
    """A file; it gets younger if it has not been read for long."""
    file = os.open(path, os.O_RDONLY | _CLOSED)
    try:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_ENTRY + _HEAD:
            return b""
        data = os.read(file, info.st_size + 1)
        while data and len(data) < info.st_size and (more := os.read(file, info.st_size)):
            data += more
    finally:
        os.close(file)
    if time.time() - info.st_mtime > _STALE:
        with suppress(OSError):  # a folder that cannot be written to
            os.utime(path)
    return data


_CLOSED = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""Not inherited; and a pipe in the place of an entry does not block."""


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _scan(folder: str) -> Iterator[os.DirEntry[str]]:
    """What a folder holds; nothing where there is no such folder."""
    try:
        with os.scandir(folder) as found:
            yield from found
    except OSError:
        return


def _remove(path: str) -> None:
    with suppress(OSError):  # somebody else was faster, or it cannot be removed
        os.unlink(path)


def _remove_folder(path: str) -> None:
    with suppress(OSError):  # it is not empty
        os.rmdir(path)
