"""Shared fixtures. No test touches the user's folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_OWN_CACHE = os.environ.get("SEASYNC_CACHE")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a cache folder of its own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SEASYNC_CACHE", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.delenv("SEASYNC_MODELS", raising=False)
    return folder


@pytest.fixture(scope="session")
def user_cache() -> Path:
    """The cache folder outside the tests: real weights are fetched there once, not for every run."""
    import platformdirs

    return Path(_OWN_CACHE or platformdirs.user_cache_dir("seasync", appauthor=False))


@pytest.fixture
def real_weights(user_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built-in encoders with their real weights: a visible skip where they cannot be had, a failure in CI."""
    from seasync.encoders.weights import DINOV2_SMALL, fetch
    from seasync.errors import WeightsError

    monkeypatch.setenv("SEASYNC_CACHE", str(user_cache))
    try:
        fetch(DINOV2_SMALL)
    except WeightsError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"weights cannot be fetched here: {error}")
