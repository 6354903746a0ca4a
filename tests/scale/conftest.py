from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.scale.store import Store, running
from tests.sea.conftest import clips, encoder

__all__ = ["clips", "encoder"]

_folders = itertools.count()


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One object store for all tests of a worker."""
    with running(tmp_path_factory.mktemp("store")) as store:
        store.bucket("tests")
        yield store


@pytest.fixture
def bucket(store: Store, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty folder of a bucket, with the credentials to it in the environment."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SEASYNC_STORAGE_OPTIONS", "client_max_retries=2 client_retry_timeout=3")
    return f"s3://tests/{next(_folders)}"
