"""The folder of the kernel cache: whatever happens to it, an entry is right or absent."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heald.config import config
from heald.driver import cache_store
from heald.driver.cache_store import MAX_ENTRY, Store, open_store

IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0


def key(number: int) -> str:
    return hashlib.sha256(b"%d" % number).hexdigest()


KEY = key(0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "cache" / "heald-me"), 1 << 30)


@pytest.fixture
def _settings() -> Iterator[None]:
    before = config.kernel_cache_dir, config.kernel_cache_size, config.verbose
    yield
    config.kernel_cache_dir, config.kernel_cache_size, config.verbose = before


def files(store: Store) -> list[Path]:
    return sorted(path for path in Path(store.folder).rglob("*") if path.is_file())


# ----------------------------------------------------------------------------------- what it keeps


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)) * 1000])
def test_what_was_put_is_got(store: Store, content: bytes) -> None:
    assert store.get("code", KEY) is None
    store.put("code", KEY, content)
    assert store.get("code", KEY) == content
    assert Store(store.folder, 1 << 30).get("code", KEY) == content
    assert store.get("link", KEY) is None
    assert store.get("code", key(1)) is None


def test_a_second_put_replaces(store: Store) -> None:
    for content in (b"one", b"two" * 1000, b"three"):
        store.put("code", KEY, content)
        assert store.get("code", KEY) == content
    assert len(files(store)) == 1


def test_too_large_is_not_kept(store: Store) -> None:
    Store(store.folder, 1 << 40).put("code", KEY, bytes(MAX_ENTRY + 1))
    Store(store.folder, 256 * 100).put("code", KEY, bytes(61))
    assert store.get("code", KEY) is None
    Store(store.folder, 256 * 100).put("code", KEY, bytes(60))
    assert store.get("code", KEY) == bytes(60)


# -------------------------------------------------------------------------------------- damage


def test_every_flipped_bit_and_every_cut_is_noticed(store: Store) -> None:
    store.put("code", KEY, b"the content")
    (path,) = files(store)
    whole = path.read_bytes()
    for position in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            assert store.get("code", KEY) is None
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert store.get("code", KEY) is None
    path.write_bytes(whole + b"\0")
    assert store.get("code", KEY) is None
    path.write_bytes(whole)
    assert store.get("code", KEY) == b"the content"


def test_entries_in_each_others_place_are_noticed(store: Store) -> None:
    store.put("code", KEY, b"one")
    (path,) = files(store)
    for kind, other in [("code", key(1)), ("link", KEY)]:
        store.put(kind, other, b"two")
        os.replace(path, store._path(kind, other))
        assert store.get(kind, other) is None
        store.put("code", KEY, b"one")


def test_what_is_no_file_is_no_entry(store: Store, tmp_path: Path) -> None:
    store.put("code", KEY, b"content")
    (path,) = files(store)
    path.unlink()
    makers: list[Callable[[Path], object]] = [
        Path.mkdir,
        os.mkfifo,  # nobody writes to it: reading must not wait
        lambda p: p.symlink_to(tmp_path / "nowhere"),
        lambda p: p.symlink_to("/dev/zero"),
        lambda p: p.symlink_to(p),
    ]
    for make in makers:
        make(path)
        assert store.get("code", KEY) is None
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


# ------------------------------------------------------------------------------- a bad folder


def test_folder_vanishes(store: Store) -> None:
    store.put("code", KEY, b"content")
    (path,) = files(store)
    path.unlink()
    path.parent.rmdir()
    assert store.get("code", KEY) is None
    store.put("code", KEY, b"again")
    assert store.get("code", KEY) == b"again"


def test_file_in_place_of_a_folder(tmp_path: Path, store: Store) -> None:
    for place in ("cache", "cache/heald-me", f"cache/heald-me/{KEY[:2]}"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a file")
        store.put("code", KEY, b"content")
        assert store.get("code", KEY) is None
        store.clear()
        assert path.read_text() == "a file"
        path.unlink()


NOBODY = 65534


def as_somebody_else(check: Callable[[], None]) -> None:
    """Run a check in a child of another user; root only may become one."""
    if not IS_ROOT:
        pytest.skip("needs to become another user")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this process has threads, none of which hold locks
        child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            check()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user may write to, in which each may remove their own only."""
    folder = Path(tempfile.mkdtemp(prefix="heald-shared-"))
    os.chmod(folder, 0o1777)
    yield folder
    shutil.rmtree(folder)


def test_read_only_folder(shared: Path) -> None:
    store = Store(str(shared / "heald-me"), 1 << 30)

    def check() -> None:
        store.put("code", KEY, b"content")
        (path,) = files(store)
        os.chmod(path.parent, 0o500)
        store.put("code", KEY, b"other")
        store.put("link", KEY, b"new")
        store.clear()
        assert store.get("code", KEY) == b"content"
        assert store.get("link", KEY) is None
        os.chmod(path.parent, 0o700)
        os.chmod(path, 0)  # and what must not be read is not there
        assert store.get("code", KEY) is None

    if IS_ROOT:  # who may write everywhere
        as_somebody_else(check)
    else:
        check()


@pytest.mark.usefixtures("_settings")
def test_two_users_share_a_folder(shared: Path) -> None:
    config.kernel_cache_dir = shared
    mine = open_store()
    assert mine is not None
    mine.put("code", KEY, b"mine")

    def check() -> None:
        theirs = open_store()
        assert theirs is not None
        assert theirs.get("code", KEY) is None
        theirs.put("code", KEY, b"theirs")
        assert theirs.get("code", KEY) == b"theirs"
        assert mine.get("code", KEY) is None  # no right to look into it
        mine.put("code", KEY, b"planted")
        mine.clear()

    as_somebody_else(check)
    assert mine.get("code", KEY) == b"mine"
    (planted,) = {path for path in shared.iterdir() if path != Path(mine.folder)}
    assert planted.name == f"heald-{NOBODY}"


def test_read_only_file_system(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system reports it; works for root too."""
    store.put("code", KEY, b"content")

    def refuse(*args: object, **named: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("mkdir", "makedirs", "replace", "unlink", "utime"):
        monkeypatch.setattr(cache_store.os, name, refuse)
    monkeypatch.setattr(cache_store, "_create", refuse)
    store.put("code", KEY, b"other")
    store.put("code", key(1), b"other")
    store.clear()
    assert store.get("code", KEY) == b"content"
    assert store.get("code", key(1)) is None


@pytest.mark.parametrize("room", [0, 1, 8, 39, 40, 41, 5000])
def test_full_disk(store: Store, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    store.put("code", KEY, b"old")
    left = [room]

    def write(file: int, data: memoryview) -> int:
        count = min(len(data), left[0])
        if not count:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= count
        return write_really(file, data[:count])

    write_really = os.write
    monkeypatch.setattr(cache_store.os, "write", write)
    store.put("code", KEY, b"new" * 2000)
    store.put("link", KEY, b"new" * 2000)
    monkeypatch.undo()
    assert store.get("code", KEY) == b"old"
    assert store.get("link", KEY) is None
    assert len(files(store)) == 1  # nothing half written stays


def test_short_writes_go_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.write
    monkeypatch.setattr(cache_store.os, "write", lambda file, data: really(file, data[:7]))
    store.put("code", KEY, b"content" * 100)
    assert store.get("code", KEY) == b"content" * 100


LIMITED = """
import resource, sys
from heald.driver.cache_store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
store = Store(sys.argv[1], 1 << 30)
store.put("code", "0" * 64, bytes(5000))
assert store.get("code", "0" * 64) is None
store.put("code", "1" * 64, bytes(500))
assert store.get("code", "1" * 64) == bytes(500)
"""


def test_file_size_limit_of_the_process(store: Store) -> None:
    subprocess.run([sys.executable, "-c", LIMITED, store.folder], check=True, timeout=60)
    assert len(files(store)) == 1


# --------------------------------------------------------------------------- other processes

WRITER = """
import hashlib, itertools, sys
from heald.driver.cache_store import Store
store = Store(sys.argv[1], 1 << 30)
print("ready", flush=True)
for n in itertools.count():
    key = hashlib.sha256(b"%d" % (n % 5)).hexdigest()
    store.put("code", key, key.encode() * 3000)
"""


def start_writer(store: Store) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, store.folder]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_killed_writers_leave_no_broken_entry(store: Store) -> None:
    draw = random.Random(1)
    for _ in range(6):
        process = start_writer(store)
        time.sleep(draw.uniform(0.0, 0.03))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        for path in files(store):
            if path.suffix == ".code":
                name = path.parent.name + path.stem
                assert store.get("code", name) == name.encode() * 3000
    left = [path for path in files(store) if path.name.startswith(".partial-")]
    for path in left:  # and what they left goes once it is old
        os.utime(path, (1, 1))
        store._trim(str(path.parent))
        assert not path.exists()


def test_readers_beside_writers(store: Store) -> None:
    """Two writers of the same entries, and a reader that sees whole ones only."""
    processes = [start_writer(store) for _ in range(2)]
    names = [key(n) for n in range(5)]
    try:
        until, seen = time.monotonic() + 1.0, 0
        while time.monotonic() < until or not seen:
            for name in names:
                path = store._path("code", name)
                found = store.get("code", name)
                if found is not None:
                    seen += 1
                    assert found == name.encode() * 3000, path
    finally:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def test_clear_beside_writers(store: Store) -> None:
    process = start_writer(store)
    try:
        for _ in range(200):
            store.clear()
            found = store.get("code", KEY)
            assert found in (None, KEY.encode() * 3000)
        assert process.poll() is None  # it got no exception
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


# -------------------------------------------------------------------------------------- trimming


def fill(store: Store, count: int, size: int) -> list[str]:
    """Entries of one shard, each a minute older than the next."""
    names = [f"ab{'f' * 2}{n:060x}" for n in range(count)]
    for n, name in enumerate(names):
        store.put("code", name, bytes(size))
        past = time.time() - 60 * (count - n)
        os.utime(store._path("code", name), (past, past))
    return names


def test_oldest_entries_go_first(store: Store) -> None:
    small = Store(store.folder, 256 * 10_000)
    names = fill(store, 20, 960)  # 1000 bytes each on disk: 20 000 where 10 000 may be
    small.put("code", "ab00" + "0" * 60, bytes(960))  # a write that trims
    kept = [n for n in names if small.get("code", n) is not None]
    assert kept == names[-len(kept) :]
    assert 5 <= len(kept) <= 8
    assert small.get("code", "ab00" + "0" * 60) == bytes(960)


def test_reading_makes_young(store: Store) -> None:
    small = Store(store.folder, 256 * 10_000)
    names = fill(store, 20, 960)
    old = time.time() - 100_000
    os.utime(small._path("code", names[3]), (old, old))
    assert small.get("code", names[3]) is not None
    small.put("code", "ab00" + "0" * 60, bytes(960))
    assert small.get("code", names[3]) is not None
    assert small.get("code", names[4]) is None


def test_many_entries_stay_within_the_limit(store: Store) -> None:
    small = Store(store.folder, 256 * 4_000)
    for n in range(10_000):
        small.put("code", key(n), bytes(n % 700))
    total = sum(path.stat().st_size for path in files(small))
    assert small.limit // 2 < total < 2 * small.limit
    assert sum(small.get("code", key(n)) is not None for n in range(9_500, 10_000)) > 480


def test_trimming_leaves_strangers_alone(store: Store) -> None:
    small = Store(store.folder, 256 * 1_000)
    stranger = Path(small.folder, "ab", "notes.txt")
    stranger.parent.mkdir(parents=True)
    stranger.write_bytes(bytes(5000))
    os.utime(stranger, (1, 1))
    fill(small, 5, 500)
    small._trim(str(stranger.parent))
    small.clear()
    assert files(small) == [stranger]


# ---------------------------------------------------------------------------------- which folder


@pytest.mark.usefixtures("_settings")
def test_settings_are_read_each_time(tmp_path: Path) -> None:
    for place in (tmp_path / "one", tmp_path / "two"):
        config.kernel_cache_dir = place
        store = open_store()
        assert store is not None
        store.put("code", KEY, str(place).encode())
    for place in (tmp_path / "one", tmp_path / "two"):
        config.kernel_cache_dir = place
        store = open_store()
        assert store is not None
        assert store.get("code", KEY) == str(place).encode()
    config.kernel_cache_size = 0
    assert open_store() is None
    config.kernel_cache_size = 1 << 30
    for unusable in ("", "a\0b", "\udcff" * 3000):
        config.kernel_cache_dir = unusable
        store = open_store()
        if store is not None:  # a name too long is found out when it is used
            store.put("code", KEY, b"content")
            assert store.get("code", KEY) is None


@pytest.mark.usefixtures("_settings")
def test_relative_folder_and_a_working_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    config.kernel_cache_dir = "relative"
    assert open_store() is None


@pytest.mark.usefixtures("_settings")
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users here")
def test_each_user_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.kernel_cache_dir = tmp_path / "shared"
    mine = open_store()
    assert mine is not None
    mine.put("code", KEY, b"mine")
    assert stat.S_IMODE(os.stat(mine.folder).st_mode) == 0o700
    (path,) = files(mine)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    me = os.getuid()
    monkeypatch.setattr(cache_store.os, "getuid", lambda: me + 1)
    theirs = open_store()
    assert theirs is not None
    assert theirs.folder != mine.folder
    os.mkdir(theirs.folder)  # somebody else made the folder that they would use
    assert open_store() is None


@pytest.mark.usefixtures("_settings")
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_folder_that_others_may_write_to(
    tmp_path: Path, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    config.kernel_cache_dir = tmp_path
    mine = open_store()
    assert mine is not None
    mine.put("code", KEY, b"mine")
    os.chmod(mine.folder, mode)
    assert open_store() is None
    assert capsys.readouterr().err == ""
    config.verbose = True
    assert open_store() is None
    assert "not a folder of this user alone" in capsys.readouterr().err


@pytest.mark.usefixtures("_settings")
def test_link_in_place_of_the_folder(tmp_path: Path) -> None:
    config.kernel_cache_dir = tmp_path
    mine = open_store()
    assert mine is not None
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    os.symlink(tmp_path / "elsewhere", mine.folder)
    assert open_store() is None


@pytest.mark.usefixtures("_settings")
def test_damage_is_told_to_those_who_ask(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.put("code", KEY, b"content")
    (path,) = files(store)
    path.write_bytes(b"nonsense")
    assert store.get("code", KEY) is None
    assert capsys.readouterr().err == ""
    config.verbose = True
    assert store.get("code", KEY) is None
    assert "is damaged" in capsys.readouterr().err
