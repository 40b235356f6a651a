"""The file form: what is stored comes back, whatever is damaged is noticed, 1.0 is frozen."""

import base64
import hashlib
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import kernels

from heald.diagnostics import CompileError
from heald.ir import Kernel, dump_kernels, equal, file, load_kernels, parse, to_text
from heald.ops import TABLE

TEXT = """\
struct @Body {pos: vec<f32,3>, mass: f32}
kernel @weigh<1>(%bodies: array<struct<Body>,1>, %out: array<f64,1>, %größe: f32) {
  %i: i32 = tid [axis=0] !0
  %mass: f32 = load %bodies, %i [leaf=3] !1
  %big: b1 = fcmp %mass, %größe [pred="ogt"] !3
  if %big () {
    return
  } () {
    yield
  } !1
  %0: f64 = fpext %mass !0
  store %out, %i, %0 !1
  return
} !0
!0 = "weigh.py" 3:4-3:18
!1 = "weigh.py" 4:8-4:30
!2 = "weigh.py" 5:8-5:20
!3 = "lib.py" 9:11-9:15 at !2
"""
KERNEL = parse(TEXT, TABLE)
METADATA = {"writer": "heald 0.1", "größe": "µ"}
STORED = dump_kernels([KERNEL, KERNEL], metadata=METADATA)


def container(version: tuple[int, int], content: bytes, *, packed: bool = False) -> bytes:
    """A file as the format page says, made without the writer."""
    body = content if packed else zlib.compress(content)
    tail = struct.pack("<HH", *version)
    return b"\x89HEALD\r\n" + tail + hashlib.sha256(tail + body).digest() + body


def strings(*texts: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(t)) + t for t in texts)


def count(number: int) -> bytes:
    return struct.pack("<I", number)


def refused(data: bytes) -> CompileError:
    with pytest.raises(CompileError) as caught:
        load_kernels(data, TABLE)
    return caught.value


def test_kernels_and_metadata_come_back() -> None:
    back = load_kernels(STORED, TABLE)
    assert back.version == (1, 1)
    assert dict(back.metadata) == METADATA
    assert [to_text(k, spans=True) for k in back.kernels] == [to_text(KERNEL, spans=True)] * 2


@given(st.lists(kernels(spans=True), max_size=3))
def test_random_kernels_come_back(stored: list[Kernel]) -> None:
    back = load_kernels(dump_kernels(stored, metadata={}), TABLE).kernels
    assert [to_text(k, spans=True) for k in back] == [to_text(k, spans=True) for k in stored]


def test_the_layout_is_the_written_one() -> None:
    text = to_text(KERNEL, spans=True).encode()
    content = count(1) + strings(b"a", b"b") + count(1) + strings(text)
    (back,) = load_kernels(container((1, 0), content), TABLE).kernels
    assert equal(back, KERNEL)
    written = dump_kernels([KERNEL], metadata={"a": "b"})
    assert written[:12] == container((1, 1), b"")[:12]
    assert zlib.decompress(written[44:]) == content


def test_the_stored_fixture_of_format_1_0_still_loads() -> None:
    """Its bytes never change; a new minor version gets a fixture of its own."""
    path = Path(__file__).parent / "kernels_1_0.txt"
    data = base64.b64decode(path.read_text(encoding="ascii"))
    back = load_kernels(data, TABLE)
    assert back.version == (1, 0)
    assert dict(back.metadata) == METADATA
    assert [to_text(k, spans=True) for k in back.kernels] == [TEXT]


# -------------------------------------------------------------------------------------- versions


@pytest.mark.parametrize("version", [(0, 0), (0, 9), (1, 2), (2, 0), (65535, 65535)])
def test_other_versions_are_refused_and_both_are_named(version: tuple[int, int]) -> None:
    error = refused(container(version, b"\0" * 8))
    assert error.codes == ("H0902",)
    assert "{}.{}".format(*version) in str(error)
    assert "reads format 1.1" in str(error)


def test_older_minor_versions_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "FORMAT", (1, 3))
    assert load_kernels(STORED, TABLE).version == (1, 1)
    assert refused(container((1, 4), b"")).codes == ("H0902",)
    assert "older ones of the same major" in str(refused(container((2, 0), b"")))


# ---------------------------------------------------------------------------------------- damage


def test_a_change_of_any_byte_is_noticed() -> None:
    data = dump_kernels([KERNEL], metadata={})
    for at in range(len(data)):
        for change in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= change
            assert refused(bytes(damaged)).codes == ("H0903",)


def test_every_cut_and_every_tail_is_noticed() -> None:
    data = dump_kernels([KERNEL], metadata={})
    for stop in range(len(data)):
        assert refused(data[:stop]).codes == ("H0903",)
    assert refused(data + b"\0").codes == ("H0903",)
    assert "cut off" in str(refused(data[:20]))
    assert "does not begin as one" in str(refused(data[1:]))


@given(st.binary() | st.binary().map(lambda b: container((1, 0), b)))
def test_any_bytes_are_refused(data: bytes) -> None:
    if data != container((1, 0), b"\0" * 8):
        assert refused(data).codes == ("H0903",)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cut off"),
        (count(0), "cut off"),
        (count(0) + count(1), "cut off"),
        (count(0) + count(1) + count(9) + b"short", "cut off"),
        (count(0) + count((1 << 32) - 1), "cut off"),
        (count(1) + strings(b"\xff", b""), "not text"),
        (count(0) + count(1) + strings(b"kernel \xff"), "not text"),
        (count(0) + count(0) + b"\0", "something behind it"),
    ],
)
def test_content_that_does_not_add_up_is_refused(content: bytes, why: str) -> None:
    error = refused(container((1, 0), content))
    assert error.codes == ("H0903",)
    assert why in str(error)


def test_a_broken_stream_is_refused() -> None:
    stream = zlib.compress(count(0) + count(0))
    for packed in (b"", b"no stream", stream[:-1], stream + b"x", stream + stream):
        assert refused(container((1, 0), packed, packed=True)).codes == ("H0903",)


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "MAX_SIZE", 1 << 16)
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    assert len(bomb) < 1 << 17
    asked = []

    class Watched:
        """Stands before zlib and notes how much is asked of it."""

        def __init__(self) -> None:
            self.inner = zlib.decompressobj()

        def decompress(self, data: bytes, limit: int) -> bytes:
            asked.append(limit)
            return self.inner.decompress(data, limit)

    class Library:
        error = zlib.error
        decompressobj = Watched

    monkeypatch.setattr(file, "zlib", Library)
    error = refused(container((1, 0), bomb, packed=True))
    assert "larger than 65536 bytes" in str(error)
    assert asked == [(1 << 16) + 1]


def test_what_no_reader_accepts_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "MAX_SIZE", 2000)
    assert load_kernels(dump_kernels([KERNEL], metadata={}), TABLE).kernels
    with pytest.raises(CompileError, match="do not fit a file of 2000"):
        dump_kernels([KERNEL] * 9, metadata={})


# --------------------------------------------------------------------------------------- content


def test_kernels_are_parsed_and_checked() -> None:
    text = "kernel @k<0>() {\n  %x: i32 = const [value=true]\n  return\n}\n"
    content = count(0) + count(1) + strings(text.encode())
    assert refused(container((1, 0), content)).codes == ("H0904",)
    unknown = content.replace(b"const", b"later")
    error = refused(container((1, 0), unknown))
    assert error.codes == ("H0901",)
    assert "<stored kernel 0>:2:13" in str(error)


def test_metadata_must_be_text() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        dump_kernels([], metadata={"\ud800": ""})
