"""``heald doctor``: what it says of machines that are well, and of those that are not."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

import heald
from heald.cli import doctor_checks
from heald.cli.app import app
from heald.cli.doctor import json_text, show, worst
from heald.cli.doctor_checks import Check, State, run_checks
from heald.config import config
from heald.diagnostics import DeviceError, Diagnostic, Note
from heald.runtime import Device
from heald.runtime.cuda.devices import Discovery

runner = CliRunner()
WELL, ODD = Check("a", State.OK, "1"), Check("b", State.WARN, "2", "do c")
BAD = Check("c", State.FAIL, "3", "do d", {"e": [1]})


def check(name: str) -> Check:
    (found,) = [c for c in run_checks() if c.name == name]
    return found


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch, no_driver: None) -> None:
    monkeypatch.setattr(doctor_checks, "nvidia_cards", lambda: 0)


# -- the report ------------------------------------------------------------------------------------


@pytest.mark.cpu
@pytest.mark.usefixtures("no_gpu")
def test_this_machine_is_described_and_can_run_kernels() -> None:
    names = {c.name: c for c in run_checks()}
    assert names["heald"].details["version"] == heald.__version__
    assert names["llvmlite"].state is State.OK
    assert names["llvmlite"].value in names["compiler"].value
    assert names["processor"].details["vector_bits"] in (256, 512)
    assert "avx2" in names["processor"].value
    assert names["kernel"].state is State.OK
    assert names["cores"].details["used"] >= 1
    assert names["cache"].details["folder"].startswith(os.environ["HEALD_CACHE_DIR"])
    assert check("cache").details["entries"] > 0, "the kernel of the check is there"
    assert names["GPU"].state is State.OK
    assert "none (no CUDA device: this machine has no CUDA driver)" in names["GPU"].value
    assert worst(list(names.values())) is not State.FAIL
    assert all(c.remedy for c in names.values() if c.state is not State.OK)


@pytest.mark.cpu
@pytest.mark.usefixtures("no_gpu")
def test_the_command_prints_the_same_as_text_and_json() -> None:
    text, as_json = runner.invoke(app, ["doctor"]), runner.invoke(app, ["doctor", "--json"])
    assert text.exit_code == as_json.exit_code == 0, text.stdout
    report = json.loads(as_json.stdout)
    for record in report["checks"]:
        assert f"{record['state']:4}  {record['name']} " in text.stdout
    assert {c["name"] for c in report["checks"]} >= {"heald", "processor", "OpenMP", "cache", "GPU"}
    assert "Heald works here" in text.stdout


def test_exit_code_and_summary_follow_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    for checks, code, summary in [
        ([WELL], 0, "Heald works here\n"),
        ([WELL, ODD], 0, "Heald works here; 1 thing could be better\n"),
        ([BAD, ODD, BAD], 1, "2 things must be mended\n"),
    ]:
        monkeypatch.setattr("heald.cli.app.run_checks", lambda checks=checks: checks)
        result = runner.invoke(app, ["doctor"])
        assert result.exit_code == code
        assert result.stdout.endswith(f"\n\n{summary}")


def test_remedies_stand_below_and_lines_are_not_broken() -> None:
    out = io.StringIO()
    long = Check("long name", State.OK, "x" * 300)
    show([WELL, ODD, long], Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert lines[0] == "ok    a          1"
    assert lines[1] == "warn  b          2"
    assert lines[2].strip() == "to do: do c"
    assert lines[3] == "ok    long name  " + "x" * 300


def test_json_has_state_remedy_and_details() -> None:
    report = json.loads(json_text([WELL, BAD]))
    assert report["state"] == "fail"
    assert report["checks"][1] == {
        "name": "c",
        "state": "fail",
        "value": "3",
        "remedy": "do d",
        "details": {"e": [1]},
    }


def test_a_check_that_breaks_is_a_line_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("no such thing")

    monkeypatch.setattr(doctor_checks, "_CHECKS", {"one": broken, "two": lambda: iter([WELL])})
    first, second = run_checks()
    assert (first.name, first.state, first.value) == ("one", State.FAIL, "no such thing")
    assert second is WELL


# -- software, processor, threads ------------------------------------------------------------------


def only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    chosen = {name: doctor_checks._CHECKS[name]}
    monkeypatch.setattr(doctor_checks, "_CHECKS", chosen)


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "packages")
    monkeypatch.setattr(doctor_checks, "_NEEDED", ("numpy", "no-such-package"))
    found = check("no-such-package")
    assert (found.state, found.remedy) == (State.FAIL, "pip install no-such-package")
    assert check("numpy").state is State.OK


def test_a_system_that_is_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "versions")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert check("system").state is State.WARN


def test_a_processor_that_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "processor")

    def refuse() -> None:
        raise DeviceError(Diagnostic("H0804", "this processor lacks fma", hint="HEALD_ALLOW..."))

    monkeypatch.setattr(doctor_checks, "host_target", refuse)
    found = check("processor")
    assert found.state is State.FAIL
    assert (found.value, found.remedy) == ("this processor lacks fma", "HEALD_ALLOW...")


def test_no_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "cores")
    monkeypatch.setattr(doctor_checks, "find_provider", lambda: None)
    found = check("OpenMP")
    assert found.state is State.WARN
    assert "libgomp" in found.remedy


def test_more_cores_asked_for_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "cores")
    monkeypatch.setattr(config, "num_threads", 10_000)
    assert check("cores").state is State.WARN


def test_variables_that_mean_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "settings")
    monkeypatch.setenv("HEALD_NUM_THREAD", "3")
    found = check("settings")
    assert found.state is State.WARN
    assert found.value.startswith("unknown: HEALD_NUM_THREAD")
    assert "HEALD_NUM_THREADS" in found.remedy


def test_guards_that_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "settings")
    monkeypatch.setattr(config, "safety", "unchecked")
    assert check("safety").state is State.WARN


# -- the cache -------------------------------------------------------------------------------------


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    only(monkeypatch, "cache")
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_cache_that_is_not_there_yet(cache: Path) -> None:
    found = check("cache")
    assert (found.state, found.details["entries"]) == (State.OK, 0)
    assert not cache.exists(), "looking makes no folder"


def test_entries_are_counted(cache: Path) -> None:
    store = doctor_checks.open_store()
    assert store is not None
    store.put("code", "0" * 64, b"abc")
    found = check("cache")
    assert found.details["entries"] == 1
    assert found.details["bytes"] > 3
    assert " 1 entries, " in found.value


def test_a_cache_that_is_off(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "kernel_cache_dir", "")
    assert check("cache").state is State.WARN


def test_a_cache_that_others_may_change(cache: Path) -> None:
    store = doctor_checks.open_store()
    assert store is not None
    Path(store.folder).mkdir(parents=True)
    Path(store.folder).chmod(0o777)
    found = check("cache")
    assert found.state is State.WARN
    assert "is not used" in found.value


def test_a_cache_where_a_file_stands(cache: Path) -> None:
    cache.write_text("")
    found = check("cache")
    assert found.state is State.WARN
    assert "is no folder, or others may change it" in found.value


def test_a_cache_that_is_nearly_full(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "store_contents", lambda store: (9, store.limit))
    found = check("cache")
    assert (found.state, found.remedy[:20]) == (State.WARN, "set HEALD_CACHE_SIZE")


# -- GPUs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "cards", "state", "remedy"),
    [
        ("H0806", 0, State.OK, ""),
        ("H0806", 1, State.FAIL, "install NVIDIA's driver"),
        ("H0807", 1, State.FAIL, "update NVIDIA's driver to 545"),
        ("H0808", 1, State.FAIL, "nvidia-smi"),
    ],
)
def test_no_gpu_that_can_be_used(
    monkeypatch: pytest.MonkeyPatch, code: str, cards: int, state: State, remedy: str
) -> None:
    only(monkeypatch, "GPU")
    problem = DeviceError(Diagnostic(code, "what is wrong", notes=(Note("in detail"),)))
    monkeypatch.setattr(doctor_checks, "discover", lambda: Discovery((), problem))
    monkeypatch.setattr(doctor_checks, "nvidia_cards", lambda: cards)
    found = check("GPU")
    assert found.state is state
    assert "what is wrong; in detail" in found.value
    assert remedy in found.remedy


def test_gpus_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "GPU")
    new, old = (
        SimpleNamespace(
            device=Device(f"cuda:{n}", f"Card {n}", "cuda", n),
            capability=capability,
            memory=24 << 30,
            processors=132,
        )
        for n, capability in enumerate([(9, 0), (6, 1)])
    )
    monkeypatch.setattr(doctor_checks, "discover", lambda: Discovery((new, old)))
    monkeypatch.setattr(doctor_checks, "driver_version", lambda: 12030)
    monkeypatch.setattr(doctor_checks, "driver_release", lambda: "545.23.08")
    monkeypatch.setattr(
        doctor_checks, "_run_on", lambda device, name: Check(name, State.OK, device)
    )
    monkeypatch.setattr(doctor_checks, "find_jit_link", lambda version: None)
    assert check("GPU driver").value == "545.23.08, CUDA 12.3"
    first, second = check("cuda:0"), check("cuda:1")
    assert first.state is State.OK
    assert first.value == (
        "Card 0, compute capability 9.0, 24.0 GiB, 132 multiprocessors, code for sm_90"
    )
    assert first.details["capability"] == [9, 0]
    assert second.state is State.WARN
    assert "too old" in second.remedy
    assert check("cuda:0 kernel").value == "cuda:0"
    assert "cuda:1 kernel" not in [c.name for c in run_checks()], "no code for this one"
    assert check("ptxas").state is State.OK
    assert "nvidia-nvjitlink" in check("nvJitLink").value
    linker = SimpleNamespace(version=(12, 4))
    monkeypatch.setattr(doctor_checks, "find_jit_link", lambda version: linker)
    assert check("nvJitLink").value == "12.4"


def test_cards_are_counted_by_vendor_and_class(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, vendor, kind in [
        ("gpu", "0x10de", "0x030200"),
        ("sound", "0x10de", "0x040300"),
        ("other", "0x8086", "0x030000"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(doctor_checks, "_PCI", tmp_path)
    assert doctor_checks.nvidia_cards() == 1


def test_the_release_of_the_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "version"
    monkeypatch.setattr(doctor_checks, "_DRIVER", path)
    assert doctor_checks.driver_release() == ""
    path.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
    )
    assert doctor_checks.driver_release() == "580.65.06"
    path.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  545.23.08  Mon Nov  6\n")
    assert doctor_checks.driver_release() == "545.23.08"


@pytest.mark.gpu
def test_the_gpu_here_is_well() -> None:
    found = check("cuda:0")
    assert found.state is State.OK
    assert found.details["memory"] > 1 << 30
    assert check("GPU driver").details["cuda"] >= 12030
    assert check("cuda:0 kernel").state is State.OK
