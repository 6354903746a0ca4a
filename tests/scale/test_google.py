"""Videos on Google's storage, by its JSON API, on an emulator. Rows go by the XML API, which it has not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from seasync.store.objects import OPTIONS, delete, objects, read, write
from tests.scale.store import free_ports
from tests.scale.test_uri import (
    test_a_sea_can_be_told_that_its_videos_are_on_the_store as test_relocated,
)
from tests.scale.test_uri import (
    test_a_video_that_changed_on_the_store_is_fetched_anew as test_a_video_that_changed,
)
from tests.scale.test_uri import test_the_cache_of_videos_stays_within_its_bounds as test_the_cache

__all__ = ["test_a_video_that_changed", "test_relocated", "test_the_cache"]
pytestmark = pytest.mark.cluster
_folders = itertools.count()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from gcp_storage_emulator.server import create_server

    (port,) = free_ports(1)
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket="tests")
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def bucket(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty folder of a bucket, with the way to it in the environment."""
    monkeypatch.setenv(OPTIONS, f"google_base_url={address} google_skip_signature=true allow_http=true")
    return f"gs://tests/{next(_folders)}"


def test_objects_are_written_listed_read_and_taken_away(bucket: str) -> None:
    write(f"{bucket}/a/b.txt", b"some")
    write(f"{bucket}/c.txt", b"more")
    assert [(each.uri, each.size) for each in objects(bucket)] == [
        (f"{bucket}/a/b.txt", 4),
        (f"{bucket}/c.txt", 4),
    ]
    assert objects(bucket)[0].written > 1.7e9
    assert (read(f"{bucket}/c.txt"), read(f"{bucket}/none")) == (b"more", None)
    delete(f"{bucket}/c.txt")
    delete(f"{bucket}/c.txt")
    assert [each.uri for each in objects(bucket)] == [f"{bucket}/a/b.txt"]
    assert objects(f"{bucket}/none") == []
