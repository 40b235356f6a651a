"""What users see: the public names and signatures, and what importing costs in modules."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys

import pytest

import heald
import heald as wp
from heald.config import Config


def _signature(value):
    if inspect.isclass(value):
        return "class"
    if hasattr(value, "__heald_overloads__"):
        return "kernel function"
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return type(value).__name__


def test_snapshot_of_names_and_signatures(golden):
    # Every module is imported first: none may add or hide a public name.
    for module in pkgutil.walk_packages(heald.__path__, "heald."):
        importlib.import_module(module.name)
    names = [n for n in dir(wp) if not n.startswith("__")]
    lines = [f"{name}: {_signature(getattr(wp, name))}" for name in sorted(names)]
    golden("public.txt", "\n".join(lines) + "\n")


def test_every_public_name_exists():
    for name in dir(wp):
        assert getattr(wp, name) is not None


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        wp.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "from heald.types import matrix, quaternion, transformation, vector",
        "import heald.types as wt; wt.vector(length=2, dtype=float)",
        "import heald as wp, heald.types; wp.types.matrix(shape=(2, 3), dtype=float)",
        "from heald.utils import array_scan",
    ],
)
def test_packages_are_complete_when_a_program_imports_them_first(code):
    subprocess.run([sys.executable, "-c", code], check=True)


_COMPILER = {"heald.frontend.lower", "heald.passes", "heald.ops", "heald.ir", "heald.codegen.emit"}


def _modules_after(code):
    """Modules that a fresh process has loaded after ``code``."""
    script = f"import sys; {code}; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_heald_loads_nothing_heavy():
    loaded = _modules_after("import heald as wp")
    heavy = {"llvmlite", "z3", "typer", "rich", "PIL", "numpy", "cuda"}
    assert not heavy & loaded


def test_defining_kernels_loads_no_solver_and_no_compiler():
    loaded = _modules_after("import heald as wp; wp.kernel, wp.array, wp.vec3, wp.zeros(3)")
    assert not {"z3", "typer", "rich", "PIL", "llvmlite"} & loaded
    assert not _COMPILER & loaded


def test_initialising_loads_the_whole_compiler():
    assert _modules_after("import heald as wp; wp.init()") >= _COMPILER


def test_initialising_makes_what_launches_go_through():
    looked = "from heald.codegen.entry import _STATE; assert _STATE.is_known"
    assert _modules_after(f"import heald as wp; wp.init(); {looked}")


_LAUNCH = """
import sys
import heald as wp

@wp.kernel
def scale(a: wp.array(dtype=float), s: float):
    i = wp.tid()
    a[i] = wp.sin(a[i]) * s

wp.launch(scale, dim=4, inputs=[wp.zeros(4), 2.0])
print("\\n".join(sys.modules))
"""


def test_launching_a_kernel_of_the_cache_loads_no_compiler(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_LAUNCH, encoding="utf-8")
    environment = {**os.environ, "HEALD_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("HEALD_DEBUG", None)
    first, second = (
        subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout.split()
        for _ in range(2)
    )
    assert set(first) >= _COMPILER
    assert not _COMPILER & set(second)


@pytest.mark.parametrize(
    ("name", "value"), [("quite", True), ("safety", "off"), ("num_threads", "many")]
)
def test_config_refuses_unknown_settings_and_bad_values(name, value):
    with pytest.raises((AttributeError, ValueError), match=r"wp\.config"):
        setattr(Config(), name, value)


def test_the_environment_sets_defaults(monkeypatch):
    config = Config()
    monkeypatch.setenv("HEALD_NUM_THREADS", "3")
    monkeypatch.setenv("HEALD_DEBUG", "yes")
    config.reset()
    assert (config.num_threads, config.debug) == (3, True)
    monkeypatch.setenv("HEALD_DEBUG", "perhaps")
    with pytest.raises(ValueError, match="HEALD_DEBUG"):
        config.reset()
