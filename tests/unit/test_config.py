"""Settings: whoever derives something from them learns of every change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import heald
from heald.config import Config


def test_every_change_replaces_the_revision() -> None:
    config = Config()
    seen = [config.revision]
    config.num_threads = 3
    seen.append(config.revision)
    config.safety = "guarded"
    seen.append(config.revision)
    config.kernel_cache_dir = Path("somewhere")  # type: ignore[assignment]
    seen.append(config.revision)
    config.touch()
    seen.append(config.revision)
    config.reset()
    seen.append(config.revision)
    assert len({id(revision) for revision in seen}) == len(seen)


def test_a_bad_variable_is_told_without_places_in_heald() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import heald"],
        env={**os.environ, "HEALD_NUM_THREADS": "many"},
        capture_output=True,
        text=True,
        check=False,
    )
    *places, told = done.stderr.splitlines()
    assert done.returncode == 1
    assert told == (
        "ValueError: environment variable HEALD_NUM_THREADS='many': expected 0 (all cores) or a "
        "positive number; correct or unset it"
    )
    assert [line.split('"')[1] for line in places if line.startswith("  File ")] == [
        "<string>",
        str(Path(heald.__file__)),
    ]


def test_a_refused_change_changes_nothing() -> None:
    config = Config()
    before = config.revision
    with pytest.raises(ValueError, match="safety"):
        config.safety = "sometimes"
    with pytest.raises(AttributeError, match="no setting 'revision'"):
        config.revision = object()
    assert config.revision is before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_threads", -1),
        ("num_threads", 2.5),
        ("num_threads", "many"),
        ("num_threads", None),
        ("kernel_cache_size", "1 GB"),
        ("numa_node", -1),
        ("debug", 2),
        ("safety", 5),
        ("safety", None),
    ],
)
def test_values_of_any_type_are_checked(name: str, value: object) -> None:
    config = Config()
    before = getattr(config, name)
    with pytest.raises(ValueError, match=rf"wp\.config\.{name} = .*: expected"):
        setattr(config, name, value)
    assert getattr(config, name) == before


def test_settings_keep_their_types() -> None:
    config = Config()
    config.debug, config.num_threads, config.numa_node = 1, "3", None  # type: ignore[assignment]
    assert (config.debug, config.num_threads, config.numa_node) == (True, 3, None)
    default = Config().kernel_cache_dir
    config.kernel_cache_dir = None  # type: ignore[assignment]
    assert config.kernel_cache_dir == default or "HEALD_CACHE_DIR" in os.environ


@pytest.mark.parametrize("value", [3, b"folder", True, ["folder"]])
def test_a_folder_is_a_path(value: object) -> None:
    config = Config()
    before = config.kernel_cache_dir
    with pytest.raises(ValueError, match=r"kernel_cache_dir = .*expected a path"):
        config.kernel_cache_dir = value  # type: ignore[assignment]
    assert config.kernel_cache_dir == before
