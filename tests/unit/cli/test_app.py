"""The ``heald`` command, run as users run it but in this process."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import heald.cli as cli
import heald.cli.demo as demo_module
from heald.cli.app import app
from heald.cli.demos import DEMOS
from heald.driver import STAGES, write_whole

runner = CliRunner()

KERNELS = """
import heald as wp
from typing import Any

@wp.kernel
def double(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + a[i]

@wp.kernel
def broken(a: wp.array(dtype=float)):
    a[0] = missing

@wp.kernel
def generic(a: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    a[i] = a[i] * s
"""


@pytest.fixture
def kernels(tmp_path):
    path = tmp_path / "my_kernels.py"
    path.write_text(KERNELS)
    return path


def run(*args):
    return runner.invoke(app, [str(a) for a in args])


@pytest.mark.parametrize("spelling", ["version", "--version"])
def test_version(spelling):
    assert run(spelling).output.strip() == __import__("heald").__version__


def test_the_module_is_the_script():
    done = subprocess.run(
        [sys.executable, "-m", "heald", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == __import__("heald").__version__


SCRIPT = "import sys\nfrom heald.cli import main\n\nsys.exit(main())\n"


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        (["-m", "heald", "doctor"], True),
        (["-X", "utf8", "-mheald", "-m", "other"], True),
        (["heald", "doctor"], True),
        (["heald.exe", "doctor"], True),
        (["program.py", "heald"], False),
        (["-m", "program", "heald"], False),
        (["-c", "import heald", "-m", "heald"], False),
    ],
)
def test_a_wrong_setting_is_refused_as_other_input_is(command, is_refused, tmp_path):
    """By the command; a program that imports Heald gets an exception."""
    for name in ("heald", "heald.exe", "program.py"):
        (tmp_path / name).write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "HEALD_SAFETY": "foo"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = (
        "environment variable HEALD_SAFETY='foo': expected one of auto, guarded, strict, "
        "unchecked; correct or unset it\n"
    )
    if is_refused:
        assert (done.returncode, done.stderr) == (2, f"heald: {told}")
    else:
        assert done.returncode == 1
        assert done.stderr.startswith("Traceback")
        assert done.stderr.endswith(f"\nValueError: {told}")


@pytest.mark.parametrize("spelling", ["version", "--version"])
def test_the_version_is_told_without_the_other_commands(spelling, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["heald", spelling])
    monkeypatch.setitem(sys.modules, "heald.cli.app", None)  # importing it would fail
    cli.main()
    assert capsys.readouterr().out.strip() == __import__("heald").__version__


def test_the_list_names_every_demo():
    output = run("demo", "--list").output
    for name in DEMOS:
        assert name in output


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_a_demo_writes_whole_files_and_agrees_with_the_interpreter(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = DEMOS[name]
    small = type(chosen)(
        **{f: getattr(chosen, f) for f in chosen.__slots__}
        | {"check_size": min(chosen.check_size, 300), "check_steps": 2, "steps": 2}
    )
    monkeypatch.setitem(DEMOS, name, small)
    result = run("demo", name, "--frames", 2, "--size", 400, "--check", "--output", "out")
    assert result.exit_code == 0, result.output
    assert "same bits on cpu and sim" in result.output
    folder = tmp_path / "out"
    with Image.open(folder / f"{name}.gif") as animation:
        assert animation.n_frames >= 1
        animation.load()
    with Image.open(folder / f"{name}.png") as picture:
        picture.load()
    with np.load(folder / f"{name}.npz") as state:
        assert all(np.isfinite(state[key]).all() for key in state.files)
    assert sorted(p.name for p in folder.iterdir()) == [
        f"{name}.{k}" for k in ("gif", "npz", "png")
    ]


def test_interrupted_it_writes_what_there_is(tmp_path, monkeypatch):
    steps = []
    original = DEMOS["wave"].make

    def make(size, device):
        scene = original(size, device)
        step = scene.step

        def interrupted():
            steps.append(1)
            if len(steps) == 25:
                raise KeyboardInterrupt
            step()

        scene.step = interrupted
        return scene

    fields = {f: getattr(DEMOS["wave"], f) for f in DEMOS["wave"].__slots__}
    monkeypatch.setitem(DEMOS, "wave", type(DEMOS["wave"])(**fields | {"make": make}))
    result = run("demo", "wave", "--size", 400, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "interrupted" in result.output
    with Image.open(tmp_path / "wave.gif") as animation:
        animation.load()
    with np.load(tmp_path / "wave.npz") as state:
        assert state["now"].shape == (20, 20)


def test_a_failed_check_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(demo_module, "_same_bits", lambda a, b: False)
    result = run("demo", "wave", "--check", "--output", tmp_path)
    assert result.exit_code == 1
    assert "differs" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("demo", "water"), "no demo 'water'"),
        (("demo", "wave", "--device", "gpu"), "gpu"),
        (("dump", "nowhere.py::k"), "no file 'nowhere.py'"),
        (("dump", "no_such_module_at_all"), "cannot import"),
        (("dump", "no_such_module_at_all::k"), "cannot import"),
    ],
)
def test_mistakes_are_one_error_with_exit_code_2(args, says):
    result = run(*args)
    assert result.exit_code == 2
    assert says in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("stage", STAGES)
def test_dump_shows_each_stage(kernels, stage):
    result = run("dump", f"{kernels}::double", "--stage", stage)
    assert result.exit_code == 0, result.output
    marks = {"llvm": "define", "optimised": "define", "asm": "heald_kernel_double"}
    assert marks.get(stage, "kernel @double<1>") in result.output


def test_dump_shows_compile_errors(kernels):
    result = run("dump", f"{kernels}::broken")
    assert result.exit_code == 2
    assert "H0301" in result.output
    assert "a[0] = missing" in result.output


def test_dump_names_the_kernels_of_a_file(kernels):
    result = run("dump", f"{kernels}::doubl")
    assert result.exit_code == 2
    assert "double" in result.output


def test_a_file_of_one_kernel_needs_no_name(tmp_path):
    lines = KERNELS.splitlines(keepends=True)
    (tmp_path / "others.py").write_text("".join(lines[:8]))
    one = tmp_path / "one.py"
    one.write_text(f"from others import double\n{''.join(lines[:4])}{''.join(lines[8:12])}")
    one.write_text(one.read_text().replace("missing", "1.0"))
    for target in (one, f"{one}::"):
        result = run("dump", target)
        assert result.exit_code == 0, result.output
        assert "kernel @broken" in result.output


def test_a_file_of_several_kernels_lists_them(kernels):
    result = run("dump", kernels)
    assert result.exit_code == 2
    assert f"double, broken, generic; write {kernels}::double" in result.output


def test_a_file_without_kernels_says_so(tmp_path):
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    result = run("dump", empty)
    assert (result.exit_code, "has no kernel" in result.output) == (2, True)


def test_dump_of_a_generic_kernel_says_what_is_missing(kernels):
    result = run("dump", f"{kernels}::generic")
    assert result.exit_code == 2
    assert "wp.overload" in result.output


def test_dump_refuses_an_unknown_stage(kernels):
    result = run("dump", f"{kernels}::double", "--stage", "ptx")
    assert result.exit_code == 2
    assert "no stage 'ptx'" in result.output


def test_a_file_that_fails_to_import_is_one_error(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("1 / 0\n")
    result = run("dump", f"{bad}::k")
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.output


def test_pictures_hold_every_frame():
    frames = [np.full((4, 4, 3), k * 60, np.uint8) for k in range(3)]
    images = [Image.fromarray(f) for f in frames]
    data = demo_module._encoded(images[0], "GIF", images[1:])
    with Image.open(io.BytesIO(data)) as animation:
        assert animation.n_frames == 3


def test_files_are_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "state.bin"
    write_whole(path, b"old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in Path(tmp_path).iterdir()] == ["state.bin"]
