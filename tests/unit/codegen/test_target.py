"""The processor that code is made for."""

import platform

import pytest

from heald.codegen import host_target, target
from heald.codegen.target import Target, create_machine
from heald.config import config
from heald.diagnostics import DeviceError

pytestmark = pytest.mark.cpu


def test_the_host_is_described_as_llvm_needs_it() -> None:
    host = host_target()
    assert host.name == "cpu"
    assert host.triple.startswith("x86_64")
    assert "+fma" in host.features.split(",")
    assert str(create_machine(host).target_data) == host.data_layout
    assert host.header == (
        f'target triple = "{host.triple}"\ntarget datalayout = "{host.data_layout}"\n'
    )


def test_a_processor_without_fma_needs_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    old = Target("cpu", "x86_64-unknown-linux-gnu", "sandybridge", "+avx", "e")
    monkeypatch.setattr(target, "_detect", lambda: (old, ("avx2", "fma")))
    monkeypatch.setattr(config, "allow_slow_fma", False)
    with pytest.raises(DeviceError, match="lacks avx2, fma") as caught:
        host_target()
    assert caught.value.codes == ("H0804",)
    monkeypatch.setattr(config, "allow_slow_fma", True)
    assert host_target() is old


def test_missing_features_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Binding:
        get_process_triple = staticmethod(lambda: "x86_64-unknown-linux-gnu")
        get_host_cpu_name = staticmethod(lambda: "haswell")

        @staticmethod
        def get_host_cpu_features() -> dict[str, bool]:
            features = dict.fromkeys(("avx", "avx2", "bmi", "bmi2", "lzcnt", "movbe"), True)
            return Features(features | {"fma": False})

    class Features(dict):
        def flatten(self) -> str:
            return ",".join(f"{'+' if on else '-'}{name}" for name, on in self.items())

    found, missing = target._detect_x86(Binding())
    assert missing == ("f16c", "fma")
    assert "-fma" in found.features.split(",")


def test_other_processors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(DeviceError, match="riscv64") as caught:
        target._detect.__wrapped__()
    assert caught.value.codes == ("H0804",)
