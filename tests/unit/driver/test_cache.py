"""The kernel cache: a new process finds what the last one compiled, and nothing that is stale."""

from __future__ import annotations

import gc
import linecache
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.driver.fresh import Writer

import heald as wp
import heald.frontend as frontend
from heald.config import config
from heald.driver import cache, cache_keys, cache_store
from heald.driver.choice import Choice
from heald.driver.compiler import variants
from heald.ir import to_text, walk
from heald.types import i32, i64

pytestmark = pytest.mark.cpu


@dataclass
class Steps:
    """How often the front end ran, and how often LLVM."""

    lowered: int = 0
    built: int = 0

    def take(self) -> tuple[int, int]:
        """The counts since the last time."""
        found = (self.lowered, self.built)
        self.lowered = self.built = 0
        return found


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    made = Steps()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            setattr(made, name, getattr(made, name) + 1)
            return function(*args, **named)

        return counted

    monkeypatch.setattr(frontend, "lower_kernel", counting("lowered", frontend.lower_kernel))
    monkeypatch.setattr(variants, "build", counting("built", variants.build))
    return made


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """Writes user modules; the cache is a folder of the test's own."""
    before = {name: getattr(config, name) for name in ("kernel_cache_dir", "verbose", "debug")}
    config.kernel_cache_dir = tmp_path / "cache"
    (tmp_path / "src").mkdir()
    made = Writer(tmp_path / "src")
    yield made
    made.forget()
    for name, value in before.items():
        setattr(config, name, value)


def entries(kind: str = "*") -> list[Path]:
    return sorted(Path(config.kernel_cache_dir).rglob(f"*.{kind}"))


SCALE = """
GAIN = {gain}

@wp.kernel
def k(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * GAIN
"""


def scaled(writer: Writer, text: str = SCALE, **names: object) -> float:
    """What the kernel of a text makes of 1.0, in a new process as it were."""
    return launched(writer.module(text.format(**names) if names else text).k)


def launched(kernel: Any, device: str = "cpu") -> float:
    a = wp.array([1.0], dtype=float, device=device)
    wp.launch(kernel, dim=1, inputs=[a], device=device)
    return float(a.numpy()[0])


# ----------------------------------------------------------------------------------- what is found


def test_second_process_neither_lowers_nor_builds(writer: Writer, steps: Steps) -> None:
    assert scaled(writer, gain=2.0) == 2.0
    assert steps.take() == (1, 1)
    assert scaled(writer, gain=2.0) == 2.0
    assert steps.take() == (0, 0)
    assert [len(entries(kind)) for kind in ("program", "link", "code")] == [1, 1, 1]


def test_each_option_has_its_own(writer: Writer, steps: Steps) -> None:
    text = """
    @wp.kernel({options})
    def k(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = a[i] * a[i] + a[i + 1] / a[i + 2]
    """
    seen = set()
    given = ("strict_fp=0", "strict_fp=1", "fast_math=1", "safety='unchecked'")
    for options in (*given, "name='n'", "name='m'"):
        module = writer.module(textwrap.dedent(text).format(options=options))
        program = module.k.program(module.k.concrete_types())
        program.prepare()
        assert steps.take()[0] == 1, options
        seen.add(to_text(program.guarded(bounds=False)))
    assert len(seen) == 6
    kernel = module.k
    for wide in (False, True, False):
        kernel.invalidate()
        found = kernel.program(kernel.concrete_types(), wide_index=wide)
        (tid,) = [op for op in walk(found.wir.body) if op.name == "tid"]
        assert tid.result.type is (i64 if wide else i32)
    assert steps.take()[0] == 1  # the wide one is new


def test_types_of_arguments_count(writer: Writer, steps: Steps) -> None:
    text = """
    @wp.kernel
    def k(a: wp.array(dtype=typing.Any)):
        a[0] = a[0] + a[0]
    """
    for _ in range(2):
        kernel = writer.module(text).k
        for dtype in (wp.float32, wp.float64, wp.int8, wp.vec3):
            a = wp.ones(1, dtype=dtype)
            wp.launch(kernel, dim=1, inputs=[a])
            assert a.numpy().flat[0] == 2
    assert steps.take() == (4, 4)


def test_structs_of_one_name_are_told_apart(writer: Writer, steps: Steps) -> None:
    text = """
    @wp.struct
    class S:
        x: {x}
        y: {y}

    @wp.kernel
    def k(s: S, a: wp.array(dtype=wp.float64)):
        a[0] = wp.float64(s.y)
    """
    for x, y in [("int  ", "float"), ("float", "int  "), ("int  ", "float")]:
        module = writer.module(text.format(x=x, y=y))
        a = wp.zeros(1, dtype=wp.float64)
        wp.launch(module.k, dim=1, inputs=[module.S(x=1, y=2), a])
        assert a.numpy()[0] == 2.0
    assert steps.take() == (2, 2)


FAULTS = """{above}
@wp.kernel
def k(a: wp.array(dtype=float), {name}: wp.array(dtype=int)):
    i = wp.tid()
    print("thread", i)
    a[{name}[i]] = 1.0
"""


def fault_of(kernel: Any, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    a, index = wp.zeros(4), wp.array([2, 9], dtype=int)
    with pytest.raises(wp.OutOfBoundsError) as caught:
        wp.launch(kernel, dim=2, inputs=[a, index])
    assert a.numpy().tolist() == [0, 0, 1, 0]
    return str(caught.value), capsys.readouterr().out


def test_faults_and_prints_are_those_of_fresh_code(
    writer: Writer, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FAULTS.format(above="", name="index")
    first = fault_of(writer.module(text).k, capsys)
    steps.take()
    assert fault_of(writer.module(text).k, capsys) == first
    assert steps.take() == (0, 0)
    assert "user.py:10:" in first[0]
    assert "index 9 outside 'a' of shape 4" in first[0]
    assert first[1] == "thread 0\nthread 1\n"


def test_a_moved_kernel_keeps_its_code_and_gets_new_places(
    writer: Writer, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    first = fault_of(writer.module(FAULTS.format(above="", name="index")).k, capsys)
    assert steps.take() == (1, 1)
    moved = FAULTS.format(above="\n\n# moved\n", name="index")
    second = fault_of(writer.module(moved).k, capsys)
    assert steps.take() == (1, 0)
    assert "user.py:13:" in second[0]
    assert second[0].replace("user.py:13", "user.py:10").replace("13 |", "10 |") == first[0]
    assert fault_of(writer.module(moved).k, capsys) == second
    assert steps.take() == (0, 0)


def test_a_renamed_parameter_keeps_its_code(
    writer: Writer, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FAULTS.replace("wp.array(dtype=float), {name}", "wp.array(dtype=float), {name}")
    writer.module(text.format(above="", name="index"))
    launchable = writer.module(text.format(above="", name="index")).k
    fault_of(launchable, capsys)
    steps.take()
    renamed = writer.module(text.format(above="", name="where")).k
    fault_of(renamed, capsys)
    assert steps.take() == (1, 0)
    with pytest.raises(wp.LaunchError, match="where"):
        wp.launch(renamed, dim=1, inputs=[wp.zeros(4), 3])


def test_programs_from_disk_are_whole(writer: Writer, steps: Steps) -> None:
    """WIR, condition, rank, what is written, the simulator: all as if compiled here."""
    text = """
    @wp.func
    def twice(x: float): return x + x

    @wp.kernel
    def k(a: wp.array(dtype=float), b: wp.array(dtype=float, ndim=2)):
        i, j = wp.tid()
        a[i] = twice(b[i, j])
    """

    def facts() -> tuple[object, ...]:
        kernel = writer.module(text).k
        found = kernel.program(kernel.concrete_types())
        found.prepare()
        outputs = []
        for device in ("cpu", "sim"):
            a, b = wp.zeros(3, device=device), wp.ones((3, 2), device=device)
            wp.launch(kernel, dim=(3, 2), inputs=[a, b], device=device)
            outputs.append(a.numpy().tolist())
        with pytest.raises(wp.LaunchError):
            wp.launch(kernel, dim=3, inputs=[wp.zeros(3), wp.zeros((3, 2))])
        kernels = [found.wir, found.lowered(Choice(bounds=True))]
        texts = [to_text(kernel, spans=True) for kernel in kernels]
        return (found.rank, found.describe_condition(), found.written(), outputs, texts)

    fresh = facts()
    assert steps.take() == (1, 2)
    assert facts() == fresh
    assert steps.take() == (0, 0)
    assert fresh[0] == 2
    assert fresh[2] == (True, False)
    assert "dim[0] <= a.shape[0]" in str(fresh[1])


def test_stored_ir_of_a_cached_kernel(writer: Writer, tmp_path: Path) -> None:
    stored = []
    for name in ("one", "two"):
        wp.save_ir(writer.module(SCALE.format(gain=2.0)).k, tmp_path / name)
        stored.append((tmp_path / name).read_bytes())
    assert stored[0] == stored[1]


# ----------------------------------------------------------------------------------- never stale

VARIANTS: dict[str, tuple[str, list[dict[str, str]]]] = {
    "constant": (SCALE, [{"gain": "2.0"}, {"gain": "3.0"}]),
    "type of a constant": (
        (
            "C = {c}\n@wp.kernel\ndef k(a: wp.array(dtype=float)):\n"
            "    a[0] = float(wp.float64(C) * wp.float64(1e7) - wp.float64(11000000.0))\n"
        ),
        [{"c": "np.float32(1.1)"}, {"c": "np.float64(1.7)"}, {"c": "np.float64(1.1)"}],
    ),
    "enum member": (
        (
            "class E(enum.IntEnum):\n    A = {a}\n"
            "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = float(E.A)\n"
        ),
        [{"a": "1"}, {"a": "2"}],
    ),
    "host vector": (
        (
            "V = wp.vec3(1.0, 2.0, {z})\n"
            "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = wp.dot(V, V)\n"
        ),
        [{"z": "3.0"}, {"z": "4.0"}],
    ),
    "function": (
        (
            "@wp.func\ndef f(x: float):\n    return x * {c}\n"
            "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = f(a[0])\n"
        ),
        [{"c": "2.0"}, {"c": "3.0"}],
    ),
    "default argument": (
        (
            "D = {d}\n@wp.func\ndef f(x: float, y: float = D):\n    return x * y\n"
            "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = f(a[0])\n"
        ),
        [{"d": "2.0"}, {"d": "3.0"}],
    ),
    "annotation": (
        (
            "T = {t}\n@wp.func\ndef f(x: T):\n    return float(x / T(3.0) * T(3e9) - T(1e9))\n"
            "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = f({t}(a[0]))\n"
        ),
        [{"t": "wp.float32"}, {"t": "wp.float64"}],
    ),
    "closure cell": (
        (
            "def make(g):\n    @wp.kernel\n    def k(a: wp.array(dtype=float)):\n"
            "        a[0] = a[0] * g\n"
            "    return k\nk = make({g})\n"
        ),
        [{"g": "2.0"}, {"g": "3.0"}],
    ),
    "function in a closure cell": (
        (
            "def make(f):\n    @wp.kernel\n    def k(a: wp.array(dtype=float)):\n"
            "        a[0] = f(a[0])\n"
            "    return k\nk = make({f})\n"
        ),
        [{"f": "wp.sin"}, {"f": "wp.cos"}],
    ),
    "static expression": (
        (
            "L = {l}\n@wp.kernel\ndef k(a: wp.array(dtype=float)):\n"
            "    for i in wp.static(range(len(L))):\n        a[0] = a[0] + wp.static(float(L[i]))\n"
        ),
        [{"l": "[1, 2]"}, {"l": "[1, 3]"}, {"l": "[1, 2, 3]"}],
    ),
    "overloads": (
        (
            "@wp.func\ndef f(x: float): return 2.0\n@wp.func\ndef f(x: {t}): return 3.0\n"
            "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = f(7)\n"
        ),
        [{"t": "int"}, {"t": "wp.vec3"}],
    ),
    "branch decided by a constant": (
        (
            "FLAG = {f}\n@wp.kernel\ndef k(a: wp.array(dtype=float)):\n"
            "    if FLAG:\n        a[0] = 5.0\n    else:\n        a[0] = 6.0\n"
        ),
        [{"f": "True"}, {"f": "False"}],
    ),
    "contraction by brackets": (
        ("@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    x = 1.0 + 2.0**-23\n    a[0] = {e}\n"),
        [{"e": "x * x - (1.0 + 2.0**-22)"}, {"e": "float(x * x) - (1.0 + 2.0**-22)"}],
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_never_stale(writer: Writer, steps: Steps, name: str) -> None:
    """Each variant in turn, twice: what the cache gives is what a compiler without one gives."""
    text, variants = VARIANTS[name]
    folder = config.kernel_cache_dir
    config.kernel_cache_dir = ""
    expected = [scaled(writer, text, **variant) for variant in variants]
    assert len({str(x) for x in expected}) == len(variants)
    config.kernel_cache_dir = folder
    steps.take()
    for round_ in range(2):
        for variant, value in zip(variants, expected, strict=True):
            assert scaled(writer, text, **variant) == value, variant
            lowered, built = steps.take()
            assert (lowered, built) == ((0, 0) if round_ else (1, built))


def test_function_two_modules_away(writer: Writer, steps: Steps) -> None:
    user = "from middle import middle\n" + SCALE.replace("a[i] * GAIN", "middle(a[i])")
    for gain in (2.0, 3.0, 2.0, 3.0):
        writer.module(f"@wp.func\ndef deep(x: float): return x * {gain}\n", "deep.py")
        writer.module(
            "from deep import deep\n@wp.func\ndef middle(x: float): return deep(x)\n", "middle.py"
        )
        assert scaled(writer, user, gain=0) == gain
    assert steps.take() == (2, 2)


def test_constant_of_another_module(writer: Writer, steps: Steps) -> None:
    user = "import settings\n" + SCALE.replace("* GAIN", "* settings.GAIN")
    for gain in (2.0, 3.0, 2.0):
        writer.module(f"GAIN = {gain}", "settings.py")
        assert scaled(writer, user, gain=0) == gain
    assert steps.take() == (2, 2)


def test_monkeypatched_global(writer: Writer, steps: Steps) -> None:
    for gain in (2.0, 3.0, 2.0):
        module = writer.module(SCALE.format(gain=2.0))
        module.GAIN = gain
        assert launched(module.k) == gain
    assert steps.take() == (2, 2)


def test_rebinding_counts_after_invalidate_only(writer: Writer) -> None:
    module = writer.module(SCALE.format(gain=2.0))
    assert launched(module.k) == 2.0
    module.GAIN = 5.0
    assert launched(module.k) == 2.0
    module.k.invalidate()
    assert launched(module.k) == 5.0
    module.GAIN = 2.0
    module.k.invalidate()
    assert launched(module.k) == 2.0


TABLES = """
import numpy as np
ONE, TWO = (wp.constant(np.array([x], dtype=np.float32)) for x in (1.0, 2.0))
A, B, C = {names}

@wp.kernel
def k(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * (100.0 * A[0] + 10.0 * B[0] + C[0])
"""


def test_which_of_two_tables_of_one_shape_a_name_means(writer: Writer, steps: Steps) -> None:
    for names, found in (("ONE, ONE, TWO", 112.0), ("ONE, TWO, TWO", 122.0)):
        assert scaled(writer, TABLES, names=names) == found
    assert steps.take() == (2, 2)
    assert scaled(writer, TABLES, names="TWO, ONE, ONE") == 211.0
    assert steps.take() == (0, 0), "the code for two tables, of which the last has two names"


def test_value_that_changes_while_it_is_compiled(
    writer: Writer, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = writer.module(SCALE.format(gain=2.0))
    really = frontend.lower_kernel

    def meanwhile(*args: Any, **named: Any) -> Any:
        module.GAIN = 9.0
        return really(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(frontend, "lower_kernel", meanwhile)
        assert launched(module.k) == 2.0, "as it was when compiling began"
    assert entries("program") == [], "an attribute may have been read later"
    assert scaled(writer, gain=2.0) == 2.0


def test_opaque_captures_are_lowered_each_time(writer: Writer, steps: Steps) -> None:
    text = """
    class Settings:
        def __init__(self, gain): self.gain = gain
        def __getattr__(self, name): raise AttributeError(name)
    S = Settings({gain})

    def read(s): return s.gain

    @wp.kernel
    def k(a: wp.array(dtype=float)):
        a[0] = a[0] * wp.static(read(S))
    """
    for gain, expected in [(2.0, (1, 1)), (2.0, (1, 0)), (3.0, (1, 1)), (2.0, (1, 0))]:
        assert scaled(writer, text, gain=gain) == gain
        assert steps.take() == expected
    assert entries("program") == []


def test_host_calls_in_static_expressions_follow_the_settings(writer: Writer) -> None:
    text = """
    @wp.func
    def f(x: float): return x * x + -1.0
    @wp.kernel(strict_fp=0)
    def k(a: wp.array(dtype=float)):
        a[0] = wp.static(f(1.000244140625))
    """
    results = []
    try:
        for strict in (False, True, False, True):
            config.strict_fp = strict
            results.append(scaled(writer, text))
    finally:
        config.strict_fp = False
    assert results[:2] == results[2:]
    assert results[0] != results[1]


def test_notebook_cells(steps: Steps, writer: Writer) -> None:
    """Sources without a file, of one name each, as IPython gives them."""

    def cell(gain: float) -> float:
        text = textwrap.dedent(SCALE.format(gain=gain))
        linecache.cache["<cell-1>"] = (len(text), None, text.splitlines(True), "<cell-1>")
        names: dict[str, Any] = {"wp": wp, "__name__": "__main__"}
        exec(compile(text, "<cell-1>", "exec"), names)
        return launched(names["k"])

    assert [cell(2.0), cell(3.0), cell(2.0)] == [2.0, 3.0, 2.0]
    assert steps.take() == (2, 2)


# --------------------------------------------------------------------------- other versions


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        (cache_keys, "build_identity", (1, 1)),
        (cache_keys, "llvm_version", (0, 1)),
        (cache_keys, "host_target", (0, 1)),
    ],
)
def test_another_version_starts_anew(
    writer: Writer,
    steps: Steps,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    expected: tuple[int, int],
) -> None:
    assert scaled(writer, gain=2.0) == 2.0
    steps.take()
    other = {
        "build_identity": lambda: b"another Heald",
        "llvm_version": lambda: "LLVM 99",
        "host_target": lambda: "another processor",
    }[name]
    cache_keys._code_identity.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(module, name, other)
        assert scaled(writer, gain=2.0) == 2.0
        assert steps.take() == expected
    cache_keys._code_identity.cache_clear()
    assert scaled(writer, gain=2.0) == 2.0
    assert steps.take() == (0, 0)


def test_identity_of_a_changed_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(cache_keys.__file__).parent.parent
    copy = tmp_path / "heald"
    for path in package.rglob("*.py"):
        place = copy / path.relative_to(package)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    monkeypatch.setattr(cache_keys, "__file__", str(copy / "driver" / "cache_keys.py"))

    def identity() -> bytes:
        cache_keys.build_identity.cache_clear()
        return cache_keys.build_identity()

    try:
        first = identity()
        assert identity() == first
        changed = copy / "library" / "trigonometric.py"
        info = changed.stat()
        os.utime(changed, ns=(info.st_atime_ns, info.st_mtime_ns + 1))
        second = identity()
        (copy / "library" / "another.py").write_text("")
        third = identity()
        init = copy / "__init__.py"
        info = init.stat()
        text = init.read_text()
        init.write_text(text.replace('__version__ = "0', '__version__ = "9'))
        os.utime(init, ns=(info.st_atime_ns, info.st_mtime_ns))
        fourth = identity()
        (copy / "library" / "__pycache__").mkdir()
        (copy / "library" / "__pycache__" / "x.pyc").write_text("")
        assert identity() == fourth
        assert len({first, second, third, fourth}) == 4
    finally:
        monkeypatch.undo()
        cache_keys.build_identity.cache_clear()


# -------------------------------------------------------------------------------- a bad folder


def damages(path: Path, whole: bytes) -> Iterator[None]:
    draw = random.Random(3)
    for size in (0, 7, 20, 41, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        yield
    for _ in range(4):
        changed = bytearray(whole)
        changed[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        yield
    others = [other for other in entries() if other != path]
    shutil.copy(draw.choice(others), path)
    yield
    path.unlink()
    path.mkdir()
    yield
    path.rmdir()
    path.write_bytes(whole)


@pytest.mark.parametrize("kind", ["program", "link", "code"])
def test_damaged_entries(writer: Writer, steps: Steps, kind: str) -> None:
    assert scaled(writer, gain=2.0) == 2.0
    scaled(writer, gain=3.0)
    for path in entries(kind)[:1]:
        for _ in damages(path, path.read_bytes()):
            assert scaled(writer, gain=2.0) == 2.0
            assert scaled(writer, gain=3.0) == 3.0
    steps.take()
    scaled(writer, gain=2.0)
    scaled(writer, gain=3.0)
    assert steps.take() == (0, 0)


@pytest.mark.parametrize("kind", ["program", "link", "code"])
def test_entries_of_another_form(writer: Writer, kind: str) -> None:
    """The checksum is right, and still it is nothing that this Heald wrote."""
    assert scaled(writer, gain=2.0) == 2.0
    store = cache_store.open_store()
    assert store is not None
    (path,) = entries(kind)
    key = path.parent.name + path.stem
    content = store.get(kind, key)
    assert content is not None
    draw = random.Random(4)
    wrong = [b"", b"x", b"\xff" * 200, content[:30], b"[" * 9999, content[64:]]
    for _ in range(30):
        changed = bytearray(content[: 200 if kind == "code" else 60])
        changed[draw.randrange(len(changed))] = draw.randrange(256)
        if kind != "program":  # its WIR is read when somebody asks for it
            wrong.append(bytes(changed))
    for data in wrong:
        if kind == "program" and len(data) > 29:
            continue
        store.put(kind, key, data)
        assert scaled(writer, gain=2.0) == 2.0


def test_folder_deleted_while_running(writer: Writer, steps: Steps) -> None:
    module = writer.module(SCALE.format(gain=2.0))
    assert launched(module.k) == 2.0
    shutil.rmtree(config.kernel_cache_dir)
    assert launched(module.k) == 2.0
    assert scaled(writer, gain=2.0) == 2.0
    assert steps.take() == (2, 2)
    assert scaled(writer, gain=2.0) == 2.0
    assert steps.take() == (0, 0)


def test_file_in_place_of_the_folder(writer: Writer, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert scaled(writer, gain=2.0) == 2.0
    assert scaled(writer, gain=2.0) == 2.0
    assert (tmp_path / "cache").read_text() == "no folder"


def test_folder_that_cannot_be_written(
    writer: Writer, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root sees a full or a read-only disk; what was there before is used."""
    assert scaled(writer, gain=2.0) == 2.0
    steps.take()

    def refuse(*args: object) -> int:
        raise OSError(28, "No space left on device")

    for name in ("_create", "_write_all"):
        with monkeypatch.context() as patch:
            patch.setattr(cache_store, name, refuse)
            assert scaled(writer, gain=2.0) == 2.0
            assert scaled(writer, gain=3.0) == 3.0
            assert steps.take() == (1, 1)


def test_folder_that_changes_at_run_time(writer: Writer, steps: Steps, tmp_path: Path) -> None:
    for name, expected in [("one", 1), ("two", 1), ("one", 0), ("", 1), ("two", 0)]:
        config.kernel_cache_dir = tmp_path / name if name else ""
        assert scaled(writer, gain=2.0) == 2.0
        assert steps.take() == (expected, expected)


def test_clearing_clears_the_disk(writer: Writer, steps: Steps) -> None:
    module = writer.module(SCALE.format(gain=2.0))
    assert launched(module.k) == 2.0
    steps.take()
    wp.clear_kernel_cache()
    assert entries() == []
    assert launched(module.k) == 2.0
    assert steps.take() == (1, 1)


def test_debugging_shows_every_stage(
    writer: Writer, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scaled(writer, gain=2.0) == 2.0
    config.debug = True
    assert scaled(writer, gain=2.0) == 2.0
    assert "after fold_constants" in capsys.readouterr().err
    assert steps.take() == (2, 2)


def test_misses_are_told_to_those_who_ask(
    writer: Writer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCALE.replace("* GAIN", "* wp.static(f(GAIN))")
    text = text.replace("GAIN = {gain}", "GAIN = 2.0\nf = lambda x: x")
    assert scaled(writer, text) == 2.0
    assert capsys.readouterr().err == ""
    config.verbose = True
    assert scaled(writer, text) == 2.0
    assert "'k' is lowered each time: f is the function '<lambda>'" in capsys.readouterr().err


# --------------------------------------------------------------------------------- processes

SCRIPT = """
import sys
import numpy as np
import heald as wp

@wp.func
def square(x: float):
    return x * x

@wp.kernel
def k(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = square(a[i]) + wp.sin(a[i])

print("ready", flush=True)
sys.stdin.readline()
a, b = wp.array(np.arange(64, dtype=np.float32)), wp.zeros(64)
wp.launch(k, dim=64, inputs=[a, b])
print(b.numpy().tobytes().hex(), flush=True)
"""


class Process:
    """A Python that compiles and runs the script once it is told to."""

    def __init__(self, script: Path) -> None:
        environment = {**os.environ, "HEALD_CACHE_DIR": str(config.kernel_cache_dir)}
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def result(self) -> str:
        found, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=60)


def test_two_processes_at_once(writer: Writer, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    processes = [Process(script) for _ in range(2)]
    for process in processes:
        process.go()
    results = {process.result() for process in processes}
    assert len(results) == 1
    last = Process(script)
    last.go()
    assert {last.result()} == results


def test_killed_while_it_compiles(writer: Writer, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    draw = random.Random(2)
    for _ in range(3):
        process = Process(script)
        process.go()
        time.sleep(draw.uniform(0.02, 0.2))
        process.kill()
    first, second = Process(script), Process(script)
    first.go()
    expected = first.result()
    second.go()
    assert second.result() == expected
    values = np.frombuffer(bytes.fromhex(expected.strip()), np.float32)
    x = np.arange(64, dtype=np.float32)
    assert np.allclose(values, x * x + np.sin(x), rtol=1e-5)


# ------------------------------------------------------------------------------------ in memory


def test_programs_end_with_their_kernel(writer: Writer) -> None:
    module = writer.module(SCALE.format(gain=2.0))
    for _ in range(3):  # the later ones may take a shorter way
        assert launched(module.k) == 2.0
    (compiled,) = module.k.programs()
    held = weakref.ref(compiled)
    del compiled
    module.k.invalidate()
    gc.collect()
    assert held() is None
    assert launched(module.k) == 2.0


def test_kernels_that_nobody_holds_go_with_their_programs(writer: Writer) -> None:
    text = """
    def make(gain):
        @wp.kernel(module="factory")
        def k(a: wp.array(dtype=float)):
            a[0] = a[0] * gain
        return k
    """
    module = writer.module(text)
    held = []
    for gain in (2.0, 3.0):
        kernel = module.make(gain)
        for _ in range(3):
            assert launched(kernel) == gain
        held += [weakref.ref(kernel), weakref.ref(kernel.programs()[0])]
        held.append(weakref.ref(kernel.__wrapped__))
    del kernel
    gc.collect()
    assert [one() is None for one in held] == [True] * 3 + [False] * 3  # the last has the name
    wp.get_module("factory").kernels.clear()
    gc.collect()
    assert all(one() is None for one in held)


def test_compiled_programs_keep_their_wir_packed(writer: Writer) -> None:
    module = writer.module(SCALE.format(gain=2.0))
    found = module.k.program(module.k.concrete_types())
    text = to_text(found.wir, spans=True)
    found.prepare()
    assert found._analysed._kernel is None
    assert to_text(found.wir, spans=True) == text


def test_objects_by_text(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"
    compiled: list[str] = []
    really = cache.compile_object
    monkeypatch.setattr(
        cache,
        "compile_object",
        lambda text, target, level: compiled.append(text) or really(text, target, level=level),
    )
    target = cache_keys.host_target()
    first = cache.cached_object(target.header + text, target, 2)
    assert cache.cached_object(target.header + text, target, 2) == first
    assert len(compiled) == 1
    assert cache.cached_object(target.header + text.replace("1", "2"), target, 2) != first
    cache.cached_object(target.header + text, target, 0)
    assert len(compiled) == 3


REBOUND = """
import numpy as np
ONE, TWO = 1.0, 2.0
T, U = (wp.constant(np.full(4, x, np.float32)) for x in (1.0, 2.0))
A, B, X, Y = ONE, TWO, T, U
@wp.func
def both(): return A + 10.0 * B
@wp.kernel
def k(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = both() + 100.0 * wp.static(A) + 1000.0 * A + 10000.0 * X[i] + 100000.0 * Y[i]
"""


@pytest.mark.parametrize("back", [True, False])
def test_names_that_are_bound_anew_while_a_kernel_is_compiled(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    """All of it means what they meant when it was begun, on the disk too."""
    lower = frontend.lower_kernel
    module = writer.module(REBOUND)

    def meanwhile(*how: Any, **more: Any) -> Any:
        module.A, module.B, module.X, module.Y = module.TWO, module.ONE, module.U, module.T
        made = lower(*how, **more)
        if back:
            module.A, module.B, module.X, module.Y = module.ONE, module.TWO, module.T, module.U
        return made

    monkeypatch.setattr(frontend, "lower_kernel", meanwhile)
    a = wp.zeros(4, device="cpu")
    wp.launch(module.k, dim=4, inputs=[a], device="cpu")
    assert a.list() == [211121.0] * 4
    monkeypatch.setattr(frontend, "lower_kernel", lower)
    again = writer.module(REBOUND)
    wp.launch(again.k, dim=4, inputs=[a], device="cpu")
    assert a.list() == [211121.0] * 4
