"""A sea on Azure's and Google's storage: what holds on S3 holds there, by the same tests, on emulators."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seasync.errors import SeaError, StoreError
from seasync.files.store import OPTIONS, delete, objects, opened, read, write
from seasync.sea.sea import Sea
from tests.cli.run import seasync
from tests.scale.azurite import azurite
from tests.scale.test_uri import (
    run,
    test_a_copy_goes_up_and_down_goes_on_and_never_over_another_sea as test_copies,
    test_every_command_takes_a_uri as test_every_command,
    test_the_same_rows_and_matches_as_on_disk as test_rows_and_matches,
    test_videos_at_a_uri_are_fetched_once as test_videos,
)
from tests.scale.test_writers import (
    test_adds_that_race_bring_each_clip_once as test_races,
    test_who_builds_or_sweeps_is_alone as who_is_alone,
)

__all__ = ["run", "test_copies", "test_every_command", "test_races", "test_rows_and_matches", "test_videos"]
pytestmark = pytest.mark.cluster
azure, google_alone = (pytest.mark.parametrize("reached", [one], indirect=True) for one in ("az", "gs"))
_folders = itertools.count()

Reached = tuple[str, dict[str, str]]  # a store's scheme, and the options to reach it by


@pytest.fixture(scope="module", params=["az", "gs"])
def reached(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    if request.param == "az":
        started = azurite(tmp_path_factory.mktemp("azurite"))
    else:
        pytest.importorskip("gcp_storage_emulator", reason="needs the extra 'dev'")
        from tests.scale.google import google

        started = google()
    with started as options:
        yield request.param, options


@pytest.fixture
def bucket(reached: Reached, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty folder of a bucket, with the credentials to it in the environment."""
    scheme, options = reached
    monkeypatch.setenv(OPTIONS, " ".join(f"{key}={value}" for key, value in options.items()))
    return f"{scheme}://tests/{next(_folders)}"


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
        Sea(f"{bucket.partition(':')[0]}://nowhere/s.sea")


@google_alone  # Arrow takes a minute to delete what it does on Azurite
def test_who_builds_or_sweeps_is_alone(bucket: str) -> None:
    who_is_alone(bucket)


@azure
def test_credentials_come_from_azures_own_variables(
    bucket: str, reached: Reached, clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTIONS, "allow_http=true")
    for name, value in reached[1].items():
        if name.startswith("azure_"):
            monkeypatch.setenv(name.upper(), value)
    where = ["--sea", f"{bucket}/s.sea", "--encoder", encoder, "--json"]
    done = seasync("add", str(clips / "dive"), *where)  # Lance looks at them once in a process
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["added"] == 3
    assert len(objects(f"{bucket}/s.sea/data")) == 1


@azure
def test_wrong_credentials_are_said(bucket: str) -> None:
    wrong = {"azure_storage_account_key": base64.b64encode(bytes(64)).decode()}
    with pytest.raises(SeaError, match="the store refuses these credentials: check"):
        Sea(f"{bucket}/s.sea", storage_options=wrong)
    with pytest.raises(StoreError, match="the store refuses these credentials"):
        objects(bucket, wrong)


def test_azures_emulator_is_known_by_its_one_option() -> None:
    system, path = opened("az://tests/a.mp4", {"azure_storage_use_emulator": "true"})
    assert (type(system).__name__, path) == ("AzureFileSystem", "tests/a.mp4")
