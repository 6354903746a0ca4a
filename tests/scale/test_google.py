"""A sea on Google's storage: what holds on S3 holds there, by the same tests, as far as an emulator tells."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from seasync.errors import SeaError
from seasync.search import Sea
from seasync.store.objects import OPTIONS, delete, objects, read, write
from tests.scale.google import google
from tests.scale.test_uri import run
from tests.scale.test_uri import (
    test_a_copy_goes_up_and_down_goes_on_and_never_over_another_sea as test_copies,
)
from tests.scale.test_uri import test_every_command_takes_a_uri as test_every_command
from tests.scale.test_uri import test_the_same_rows_and_matches_as_on_disk as test_rows_and_matches
from tests.scale.test_uri import test_videos_at_a_uri_are_fetched_once as test_videos
from tests.scale.test_writers import test_adds_that_race_bring_each_clip_once as test_races
from tests.scale.test_writers import test_who_builds_or_sweeps_is_alone as test_who_is_alone

__all__ = [
    "run",
    "test_copies",
    "test_every_command",
    "test_races",
    "test_rows_and_matches",
    "test_videos",
    "test_who_is_alone",
]
pytestmark = pytest.mark.cluster
_folders = itertools.count()


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    with google() as options:
        yield options


@pytest.fixture
def bucket(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty folder of a bucket, with the credentials to it in the environment."""
    monkeypatch.setenv(OPTIONS, " ".join(f"{key}={value}" for key, value in options.items()))
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


def test_a_missing_bucket_is_said(bucket: str) -> None:
    with pytest.raises(SeaError, match=r"make the bucket \(or container\) first"):
        Sea("gs://nowhere/s.sea")
