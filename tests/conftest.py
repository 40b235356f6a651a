"""What every test can rely on: settings, golden files, hypothesis profiles, GPU detection."""

import ctypes
import difflib
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from meaning.calls import check_calls

from heald.codegen import compile as compiling
from heald.config import config as settings
from heald.once import once
from heald.runtime import cuda
from heald.runtime.cuda import driver as cuda_driver

ROOT = Path(__file__).resolve().parent.parent
CACHE_DIR = pytest.StashKey[str]()

# --------------------------------------------------------------------------------- settings


def pytest_configure(config: pytest.Config) -> None:
    """Set Heald's environment: here, since test modules import heald before any fixture runs.

    Heald's own plug-in has imported it already, so its settings are read again.
    """
    for name in ("HEALD_FAST_MATH", "HEALD_SAFETY", "HEALD_STRICT_FP"):
        os.environ.pop(name, None)  # they change what kernels mean
    os.environ["HEALD_CHECK"] = "1"
    os.environ["HEALD_CACHE_DIR"] = config.stash[CACHE_DIR] = tempfile.mkdtemp(prefix="heald-test-")
    settings.reset()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove this run's cache."""
    shutil.rmtree(config.stash[CACHE_DIR], ignore_errors=True)


# ----------------------------------------------------------------------------- LLVM modules


@pytest.fixture(autouse=True, scope="session")
def calls_that_fit() -> Iterator[None]:
    """Whatever is compiled calls its functions with what they take: LLVM does not look."""
    with pytest.MonkeyPatch.context() as patch:
        optimise = compiling._optimise

        def checked(text: str, *rest: object) -> object:
            check_calls(text)
            return optimise(text, *rest)  # type: ignore[arg-type]

        patch.setattr(compiling, "_optimise", checked)
        yield


# ------------------------------------------------------------------------- garbage collector


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Look for no garbage while thousands of tests are made, which all stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave modules and tests out of every search for garbage: a tenth of all time went there."""
    gc.collect()
    gc.freeze()
    gc.enable()


# ----------------------------------------------------------------------------- golden files

Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--bless``."""
    parser.addoption("--bless", action="store_true", help="rewrite the expected/ files")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, as in a terminal; a background job of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with ``expected/<name>`` beside the test file; ``--bless`` rewrites it."""
    folder = request.path.parent / "expected"
    bless = request.config.getoption("--bless")

    def compare(name: str, text: str) -> None:
        __tracebackhide__ = True
        text = text.rstrip("\n") + "\n"
        for where in (ROOT, Path.home(), Path(tempfile.gettempdir())):
            if len(where.parts) > 1 and f"{where}/" in text:
                pytest.fail(f"expected/{name} would hold a path of this machine, {where}/...")
        path = folder / name
        found = path.read_text(encoding="utf-8") if path.exists() else None
        if found == text:
            return
        if bless:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        if found is None:
            pytest.fail(f"{shown} does not exist; `pytest --bless` writes it:\n{text}")
        lines = [t.splitlines(keepends=True) for t in (found, text)]
        diff = "".join(difflib.unified_diff(*lines, f"{shown}", f"{shown} (now)"))
        pytest.fail(f"`pytest --bless` accepts this change:\n{diff}", pytrace=False)

    return compare


# ------------------------------------------------------------------------------- hypothesis

# Everything is spelled out, since hypothesis has defaults of its own where CI is set.  No time
# limits: they say more about the machine's load than about the code, and kernels compile in a draw.
for profile, examples, derandomize in [
    ("dev", 50, False),
    ("ci", 200, True),
    ("nightly", 20_000, False),
]:
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=derandomize,
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile(
    os.environ.get("HEALD_HYPOTHESIS_PROFILE")
    or ("ci" if os.environ.get("CI", "").lower() in ("1", "true") else "dev")
)

# -------------------------------------------------------------------------------------- GPU


def has_gpu() -> bool:
    """Say whether the CUDA driver is here and sees a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return (
        driver.cuInit(0) == 0
        and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        and count.value > 0
    )


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this a machine without CUDA driver: no library has its name, and none was found yet."""
    monkeypatch.setattr(cuda_driver, "_LIBRARIES", ())
    for found in (cuda_driver.driver, cuda.discover):
        anew = once(found.__wrapped__)
        for name, module in list(sys.modules.items()):
            if name.startswith("heald.") and vars(module).get(found.__name__) is found:
                monkeypatch.setattr(module, found.__name__, anew)


LONGEST = "test_the_page_lists_every_kernel_of_heald"
"""A minute in one process: it begins first, or one worker might wait for it at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip ``gpu`` tests where there is none; leave ``nightly`` ones out unless they are named."""
    items.sort(key=lambda item: item.name != LONGEST)
    if "nightly" not in config.option.markexpr:
        late = [item for item in items if item.get_closest_marker("nightly")]
        if late:
            config.hook.pytest_deselected(items=late)
            items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    needing = [item for item in items if item.get_closest_marker("gpu")]
    if needing and not has_gpu():
        for item in needing:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
