"""``heald migrate``: programs with their findings marked, names, odd files, the command."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
from typer.testing import CliRunner

import heald
from heald.cli.app import app
from heald.cli.migrate import migrate_paths
from heald.cli.migration import CONSTRUCTS, Kind, scan_source
from heald.config import Config
from heald.differences import construct_of

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "warp_programs").glob("*.py"))
NAMES = (HERE / "warp_names.txt").read_text().split()
"""The public names of Warp 1.19.0, of its modules ``config``, ``types`` and ``utils``, and its
modules."""

runner = CliRunner()


def run(*arguments: object):
    return runner.invoke(app, ["migrate", *map(str, arguments)])


def found(text: str) -> list[str]:
    """The keys of the constructs that are found in a text, but for its import."""
    findings = scan_source(f"import warp as wp\n{text}\n") or []
    return [f.construct.key for f in findings if f.construct.key != "import"]


def in_kernel(text: str) -> list[str]:
    body = "\n".join(f"    {line}" for line in text.splitlines())
    return found(f"@wp.kernel\ndef k(a: wp.array(dtype=float), n: int):\n{body}\n    pass")


# -- programs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_has_the_findings_that_are_marked_in_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    marked = {
        (number, key)
        for number, line in enumerate(text.splitlines(), 1)
        for key in line.partition("#~")[2].split()
    }
    findings = scan_source(text)
    assert findings is not None
    assert {(f.line, f.construct.key) for f in findings} == marked
    lines = text.splitlines()
    for f in findings:
        assert 1 <= f.column <= len(lines[f.line - 1])


def test_a_program_that_only_needs_the_import_runs_after_it_is_changed(tmp_path: Path) -> None:
    text = (HERE / "warp_programs/drops.py").read_text(encoding="utf-8")
    path = tmp_path / "drops.py"
    path.write_text(text.replace("import warp as wp", "import heald as wp"), encoding="utf-8")
    heights, counts = runpy.run_path(str(path))["main"]()
    # After n steps of semi-implicit Euler: h - 10 * 0.1² * n (n + 1) / 2; the first two bounce.
    assert heights[2:] == pytest.approx([h - 0.6 for h in range(2, 8)], abs=1e-5)
    assert counts == [1, 1, 1, 1]
    assert scan_source(path.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_file_is_left_alone(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    run(copy)
    assert copy.read_bytes() == path.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


# -- names -----------------------------------------------------------------------------------------


def exists(name: str) -> bool:
    first, _, rest = name.partition(".")
    if first == "config":
        return rest in Config.__slots__
    return hasattr(getattr(heald, first), rest) if rest else name in dir(heald)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_warp_is_reported_exactly_where_heald_has_none(name: str) -> None:
    notes = {key for key, c in CONSTRUCTS.items() if c.kind is Kind.NOTE}
    keys = [k for k in found(f"x = wp.{name}") if k not in notes]
    assert bool(keys) != exists(name)
    if "." not in name:
        assert "absent" not in keys, "constructs.py says nothing about this name of Warp's"


def test_every_record_about_names_is_about_a_name() -> None:
    # These packages are not in the list of names: they were parts of earlier versions.
    former = {"sim", "stubs", "torch", "jax_experimental", "dlpack"}
    for construct in CONSTRUCTS.values():
        if construct.kind is Kind.UNSUPPORTED and construct.key != "absent":
            assert {construct_of(n) for n in (*NAMES, *former)} >= {construct}, construct.key


def test_records_are_whole() -> None:
    for key, construct in CONSTRUCTS.items():
        assert construct.key == key
        assert construct.why.endswith(".")
        assert not construct.remedy.endswith(".")
        about_names = bool(construct.names) or key == "absent"
        assert about_names == (construct.kind is Kind.UNSUPPORTED or key == "other-results")


def test_builtins_with_other_results_are_those_of_the_page() -> None:
    page = (HERE.parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| ", page.partition("## Other signatures")[0], re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)[(`]", row)}
    # These differ for NaN and signs of zeros alone: notes on all would bury the others.
    everywhere = {"min", "max", "clamp", "atomic_min", "atomic_max", "atomic_cas"}
    assert {*CONSTRUCTS["other-results"].names, *everywhere} == listed
    for name in CONSTRUCTS["other-results"].names:
        assert found(f"x = wp.{name}(a)") == ["other-results"]


@pytest.mark.parametrize(
    ("call", "keys"),
    [
        ("wp.set_module_options({'enable_backward': False, 'max_unroll': 3})", ["options"]),
        ("wp.set_module_options(options={'max_unroll': 3})", ["options"]),
        ("wp.kernel(module_options={'fast_math': True})", []),
        ("wp.kernel(module_options={'max_unroll': 3})", ["options"]),
        ("wp.launch(k, dim=3, no_such_thing=1)", ["options"]),
        ("wp.zeros(3, dtype=float, device='cpu')", []),
        ("wp.zeros(3, requires_grad=x)", ["gradients"]),
        ("wp.array2d(dtype=float)", []),
        ("wp.sin(x=1.0)", []),
        ("wp.HashGrid(8, 8, 8, device=None)", []),
    ],
)
def test_options_that_heald_does_not_have(call: str, keys: list[str]) -> None:
    assert found(call) == keys


# -- how names are found ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        ("import warp\nwarp.Mesh()", ["meshes"]),
        ("import warp as w\nw.Mesh()", ["meshes"]),
        ("from warp import Mesh as M", ["meshes"]),
        ("import warp\nwp = warp\nwp.Mesh()", ["meshes"]),
        ("def f():\n    import warp as wp\n    wp.Mesh()", ["meshes"]),
        ("try:\n    import warp as wp\nexcept ImportError:\n    wp = None\nwp.Mesh", ["meshes"]),
        ("import warp.fem as fem\nfem.x\nfem.y", ["libraries"]),
        ("import warp.context\nwarp.context.x", ["libraries", "libraries"]),
        ("import warp.sim\nfrom warp.build import x", ["libraries", "libraries"]),
        ("import warp as wp\nMesh()\nother.Mesh()\nwp2.Mesh()", []),
        ("import warp as wp\ndef f(wp):\n    wp.Mesh()", []),
        ("import warp as wp\ndef f():\n    wp = 1\n    wp.Mesh()", []),
        ("import warp as wp\nx = lambda wp: wp.Mesh", []),
        ("import warp as wp\nx = lambda y: wp.Mesh", ["meshes"]),
        ("from warp import *", ["star-import"]),
        ("import warp as wp\nx = 'wp.Mesh'", []),
        ("import warp as wp\nx: 'wp.Mesh' = None", ["meshes"]),
        ("import warp as wp\nx: 'wp.(' = None", []),
    ],
)
def test_what_stands_for_warp(program: str, keys: list[str]) -> None:
    findings = scan_source(program)
    assert findings is not None
    assert [f.construct.key for f in findings if f.construct.key != "import"] == keys


@pytest.mark.parametrize("text", ["", "import numpy as np", "from . import warp", "import warped"])
def test_files_without_warp(text: str) -> None:
    assert scan_source(text) is None


def test_columns_count_characters() -> None:
    findings = scan_source("import warp as wp\nx = 'äöü', wp.Mesh\n")
    assert findings is not None
    assert (findings[-1].line, findings[-1].column) == (2, 12)


# -- what kernels compute --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        ("x = 1 / 2", ["int-division"]),
        ("x = round(a[0])", ["python-round"]),
        ("x = wp.round(a[0])", []),
        ("x = wp.types.vector(length=3, dtype=float)", ["types-constructor"]),
        ("x = wp.types.matrix(1.0, shape=(2, 2))", ["types-constructor"]),
        ("x = n / 2.0", []),
        ("x = float(n) / float(2)", []),
        ("x = unknown / 2", []),
        ("x = wp.vec3() / 2.0", []),
        ("x = wp.int64(n) / wp.int64(2)", ["int-division"]),
        ("x = wp.float64(n) / wp.float64(2)", []),
        ("x = n if n else 2\ny = x / 2", ["int-division"]),
        ("x = n\nx = x + 1\ny = x / 3", ["int-division"]),
        ("x = 1.0\nx = 2\ny = x / 3", []),
        ("x = wp.tid() - 1\ny = x % 2", ["remainder"]),
        ("x = (wp.tid() + 1) * 2 // 3 >> 1\ny = x % 2", []),
        ("x = wp.clamp(n, 0, 3) % 2", []),
        ("x = wp.clamp(n, -1, 3) % 2", ["remainder"]),
        ("x = wp.min(n, 3) % 2", ["remainder"]),
        ("x = (n & 7) % 2", []),
        ("x = wp.uint32(n) % wp.uint32(2)", []),
        ("x = -wp.tid() % 2", ["remainder"]),
        ("x = 7\nx %= 2", []),
        ("x = n\nx %= 2", ["remainder"]),
        ("x = unknown(n) % 2", ["remainder"]),
        ("if n:\n    x = 1\n    return\ny = x", ["unset-variable"]),
        ("if n:\n    x = 1\nelse:\n    return\ny = x", []),
        ("while n > 0:\n    x = 1\n    break\ny = x", ["unset-variable"]),
        ("for i in range(n):\n    pass\ny = i", ["unset-variable"]),
        ("for i in range(3):\n    x = 1\ny = x", ["unset-variable"]),
        ("for i in wp.static(range(3)):\n    x = 1\ny = x + i", []),
        ("for i in range(n):\n    if n > 1:\n        continue\n    x = 1\n    y = x", []),
        ("x += 1", ["unset-variable"]),
        ("x, y = wp.vec2(), n\nz = x\nw = y", []),
        ("assert n and n > 1", []),
        ("while n and not (n or n):\n    n = 0", []),
        ("x = n and n", ["bool-operator"]),
        ("x = n > 0 or n < -1", []),
        ("a[n - 1] = 1.0", ["negative-index"]),
        ("if n > 0:\n    a[n - 1] = 1.0", []),
        ("a[wp.max(n - 1, 0)] = 1.0", []),
        ("k = n - 1\na[k] = 1.0", ["negative-index"]),
        ("k = n - 1\nif k >= 0:\n    a[k] = 1.0", []),
        ("if n > 0:\n    k = n - 1\n    a[k] = 1.0", []),
        ("k = wp.max(n - 1, 0)\na[k] = 1.0", []),
        ("k = n - 1\nif k < 0:\n    k = 0\na[k] = 1.0", []),
        ("a[-1] = 1.0", []),
        ("a[n:-1][0] = 1.0", []),
    ],
)
def test_bodies(body: str, keys: list[str]) -> None:
    assert in_kernel(body) == keys


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("x = n / WIDTH", ["int-division"]),
        ("x = n / SIZE", ["int-division"]),
        ("x = n / HALF", []),
        ("x = n / EITHER", []),
        ("x = n / wp.static(WIDTH)", ["int-division"]),
        ("WIDTH = 2.0\nx = n / WIDTH", []),
        ("x = p.count / 2", ["int-division"]),
        ("x = ps[0].count / 2", ["int-division"]),
        ("q = ps[0]\nx = q.inner.number % 2", ["remainder"]),
        ("q = P()\nx = q.count / n", ["int-division"]),
        ("x = p.mass / 2.0", []),
        ("x = p.unsigned % wp.uint32(2)", []),
        ("x = p.unknown / 2", []),
        ("x = SHIFT % 3", ["remainder"]),
    ],
)
def test_what_the_file_says_of_names_and_fields(line: str, keys: list[str]) -> None:
    body = line.replace("\n", "\n    ")
    text = f"""
WIDTH = 16
SIZE: int = wp.constant(2 * WIDTH)
HALF = 0.5
SHIFT = -1
EITHER = 1
EITHER = 1.0

@wp.struct
class Inner:
    number: int

@wp.struct
class P:
    count: int
    mass: float
    unsigned: wp.uint32
    inner: Inner

@wp.kernel
def k(p: P, ps: wp.array(dtype=P), n: int):
    {body}"""
    assert found(text) == keys


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("from warp.fem import *", ["libraries"]),
        ("from warp.tests.unittest_utils import *", ["libraries"]),
        ("from warp.types import *", []),
        ("from warp import *", ["star-import"]),
    ],
)
def test_all_names_of_a_package(line: str, keys: list[str]) -> None:
    assert found(line) == keys


def test_ordinary_functions_are_not_judged() -> None:
    assert found("def f(n: int):\n    return n / 2 % 3 + [1][-n]") == []


# -- the command -----------------------------------------------------------------------------------


def test_text_has_place_kind_construct_and_remedy() -> None:
    path = HERE / "warp_programs/numbers.py"
    result = run(path)
    assert result.exit_code == 1
    assert f"{path}:22:12: differs [int-division] i / 2\n    write `a // b`" in result.stdout
    assert re.search(r"\n1 file uses warp: \d+ differs, \d+ note, 1 rewrite\n$", result.stdout)


def test_json_has_everything() -> None:
    path = HERE / "warp_programs/numbers.py"
    report = json.loads(run(path, "--format", "json").stdout)
    (first,) = [f for f in report["findings"] if f["line"] == 22]
    assert first["file"] == str(path)
    assert (first["column"], first["kind"], first["construct"]) == (12, "differs", "int-division")
    assert first["remedy"] == CONSTRUCTS["int-division"].remedy
    assert first["docs"] == "migrate.md#int-division"
    assert report["summary"]["files"] == 1
    assert report["summary"]["differs"] == sum(f["kind"] == "differs" for f in report["findings"])
    assert report["errors"] == []


def test_exit_codes(tmp_path: Path) -> None:
    clean, other, bad = tmp_path / "clean.py", tmp_path / "other.py", tmp_path / "bad.py"
    clean.write_text("import warp as wp\n")
    other.write_text("import warp as wp\nwp.Mesh()\n")
    bad.write_text("import warp as wp\nwp.Mesh(\n")
    assert run(clean).exit_code == 0
    assert run(clean, other).exit_code == 1
    assert run(other, bad).exit_code == 2
    assert "[meshes]" in run(bad, other).stdout, "a bad file does not hide the others"
    assert run(tmp_path / "missing.py").exit_code == 2
    assert run(clean, "--format", "xml").exit_code == 2
    assert "no file here imports warp" in run(HERE / "test_migrate.py").stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"import warp as wp\nx = (\n", "2: error: no valid Python: '(' was never closed"),
        (b"import warp as wp\nx = '\xff\xfe'\n", "error: not in the encoding that it declares"),
        (b"# coding: latin-1\nimport warp as wp\nwp.Mesh  # \xe4\n", "3:1: unsupported [meshes]"),
        (b"# coding: nothing\nimport warp\n", "error: no valid Python: unknown encoding"),
        (b"# coding: ascii\nimport warp\n# \xff\n", "error: not in the encoding that it declares"),
        (b"import warp as wp\nx = '\x00'\n", "null byte"),
        (b"import warp as wp\nx = " + b"-" * 100_000 + b"1\n", "error: "),
        (b"\xef\xbb\xbfimport warp as wp\nwp.Mesh\n", "2:1: unsupported [meshes]"),
        (b"import warp as wp\r\nwp.Mesh\r\n", "2:1: unsupported [meshes]"),
        (b"", "no file here imports warp"),
    ],
)
def test_files_that_are_odd_or_no_programs(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "odd.py"
    path.write_bytes(content)
    result = run(path)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert message in result.stdout.replace(str(path), "")


def test_folders_are_searched_but_not_environments_and_hidden_folders(tmp_path: Path) -> None:
    for name in ("a.py", "deep/er/b.py", ".hidden/c.py", "env/lib/d.py", "__pycache__/e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import warp as wp\n")
    (tmp_path / "env/pyvenv.cfg").write_text("")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "text.txt").write_text("import warp as wp\n")
    result = migrate_paths([str(tmp_path), str(tmp_path / "a.py")])
    names = [Path(f).relative_to(tmp_path).as_posix() for f in result.files]
    assert names == ["a.py", "deep/er/b.py"]
    assert not result.errors
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty").exit_code == 2


def test_nothing_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import warp as wp\nraise SystemExit(7)\n")
    assert run(path).exit_code == 0


def test_the_remedy_for_imports_holds() -> None:
    remedy = CONSTRUCTS["import"].remedy
    statements = re.findall(r"`((?:import|from) .*?)`", remedy)
    assert len(statements) == 3
    names: dict[str, object] = {}
    for statement in statements:
        exec(statement, names)
    assert names["V"] is names["wp"].vec3
    assert names["wt"].vector is names["wp"].types.vector


def test_everything_that_is_asked_for_its_truth_is_looked_at() -> None:
    text = """
import warp as wp
@wp.kernel
def k(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int, m: int):
    assert a
    if n > 0 and (not b or m > 1):
        a[0] = 1.0
    c = not a
    d = n or m
    e = not (n and m)
"""
    hits = [(f.construct.key, f.line) for f in scan_source(text) or []]
    assert hits == [
        ("import", 2),
        ("array-truth", 5),
        ("array-truth", 6),
        ("array-truth", 8),
        ("bool-operator", 9),
    ]
