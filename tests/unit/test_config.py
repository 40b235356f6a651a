"""Settings: whoever derives something from them learns of every change."""

from pathlib import Path

import pytest

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


def test_a_refused_change_changes_nothing() -> None:
    config = Config()
    before = config.revision
    with pytest.raises(ValueError, match="safety"):
        config.safety = "sometimes"
    with pytest.raises(AttributeError, match="no setting 'revision'"):
        config.revision = object()
    assert config.revision is before
