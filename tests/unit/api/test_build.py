"""``wp.build`` and ``heald build``: GPU code in files, without a GPU."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import heald as wp
from heald.cli.app import app
from heald.diagnostics import DeviceError, LaunchError
from heald.driver.verify_issue import Verdict
from heald.runtime.cuda import assembler
from heald.runtime.cuda.assembler import find_ptxas
from heald.runtime.cuda.devices import Discovery

PTXAS = find_ptxas()
needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed")


@wp.kernel
def scale(x: wp.array(dtype=float), by: float):
    i = wp.tid()
    x[i] = x[i] * by


@wp.kernel
def triple(x: wp.array(dtype=Any)):
    i = wp.tid()
    x[i] = x[i] + x[i] + x[i]


@wp.kernel
def double(x: wp.array(dtype=Any)):
    i = wp.tid()
    x[i] = x[i] + x[i]


def test_ptx(tmp_path: Path) -> None:
    wp.build(scale, tmp_path / "k.ptx", arch="sm_80")
    text = (tmp_path / "k.ptx").read_text()
    assert ".target sm_80" in text
    assert ".visible .entry heald_kernel_scale(" in text
    assert "mul.rn.f32" in text
    assert "test_build.py" in text


def test_generic_kernels_need_types(tmp_path: Path) -> None:
    with pytest.raises(LaunchError):
        wp.build(double, tmp_path / "k.ptx")
    wp.build(double, tmp_path / "k.ptx", arch="sm_90", types=[wp.array(dtype=wp.float64)])
    assert "add.rn.f64" in (tmp_path / "k.ptx").read_text()


def test_the_one_instance_of_a_generic_kernel_is_meant(tmp_path: Path) -> None:
    """As the hint of H0702 says."""
    with pytest.raises(LaunchError, match=r"no instances[\s\S]*wp\.overload"):
        wp.verify(triple)
    wp.overload(triple, [wp.array(dtype=wp.float64)])
    wp.build(triple, tmp_path / "k.ptx", arch="sm_90")
    assert "add.rn.f64" in (tmp_path / "k.ptx").read_text()
    assert wp.verify(triple, properties="division").verdict == Verdict.PROVED
    wp.overload(triple, [wp.array(dtype=wp.float32)])
    with pytest.raises(LaunchError, match=r"2 instances[\s\S]*by types="):
        wp.build(triple, tmp_path / "k.ptx", arch="sm_90")


@needs_ptxas
def test_cubin_and_what_it_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wp.build(scale, tmp_path / "k.cubin", arch="sm_90", verbose=True)
    assert (tmp_path / "k.cubin").read_bytes().startswith(b"\x7fELF")
    assert "registers" in capsys.readouterr().out


@pytest.mark.parametrize(
    "said",
    [
        "ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'",
        "ptxas k.ptx, line 5; fatal   : Unsupported .version 8.7; current version is '8.3'",
    ],
)
def test_a_ptxas_that_does_not_know_the_architecture(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PTX is written all the same; for machine code the driver of such a GPU would do."""
    program = tmp_path / "ptxas"
    program.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 255\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(assembler, "discover", lambda: Discovery(()))
    monkeypatch.setattr(assembler, "find_jit_link", lambda: None)
    wp.build(scale, tmp_path / "k.ptx", arch="sm_70", verbose=True)
    assert ".target sm_70" in (tmp_path / "k.ptx").read_text()
    assert "no ptxas here makes code for it" in capsys.readouterr().out
    with pytest.raises(
        DeviceError, match=r"for sm_70[\s\S]*a ptxas or nvJitLink that knows it"
    ) as caught:
        wp.build(scale, tmp_path / "k.cubin", arch="sm_70")
    assert caught.value.codes == ("H0810",)
    assert not (tmp_path / "k.cubin").exists()


def test_ptx_needs_no_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "find_ptxas", lambda: pytest.fail("it was asked for"))
    wp.build(scale, tmp_path / "k.ptx", arch="sm_90")


def test_what_cannot_be_built(tmp_path: Path) -> None:
    for arch in ("sm_35", "compute_90", "90", 90):
        with pytest.raises(DeviceError) as caught:
            wp.build(scale, tmp_path / "k.ptx", arch=arch)
        assert caught.value.codes == ("H0804",)
    for kernel, name in ((scale, "k.o"), (test_ptx, "k.ptx")):
        with pytest.raises(LaunchError) as refused:
            wp.build(kernel, tmp_path / name)
        assert refused.value.codes == ("H0707",)
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "k.ptx"
    target = f"{__file__}::scale"
    done = CliRunner().invoke(app, ["build", target, "-o", str(out), "--arch", "sm_90"])
    assert done.exit_code == 0, done.output
    assert "heald_kernel_scale" in out.read_text()
    for wrong in (f"{__file__}::missing", "nowhere.py::k", "scale"):
        done = CliRunner().invoke(app, ["build", wrong, "-o", str(out)])
        assert done.exit_code == 2


def test_warps_add_up_floats_where_asked_for(tmp_path: Path) -> None:
    def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(out, 0, x[i])

    for warp_reduce in (False, True):
        kernel = wp.kernel(total, name=f"total_{warp_reduce}", warp_reduce=warp_reduce)
        wp.build(kernel, tmp_path / "total.ptx", arch="sm_90")
        assert ("shfl.sync" in (tmp_path / "total.ptx").read_text()) == warp_reduce
        wp.build(kernel, tmp_path / "total.ptx", arch="sm_75")
        assert "shfl.sync" not in (tmp_path / "total.ptx").read_text()
