"""A sea on Azure's blob storage: what holds on S3 holds there, by the same tests, on Microsoft's emulator."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seasync.errors import SeaError, StoreError
from seasync.search import Sea
from seasync.store.objects import OPTIONS, objects, opened
from tests.cli.run import seasync
from tests.scale.azurite import azurite
from tests.scale.test_uri import run
from tests.scale.test_uri import (
    test_a_copy_goes_up_and_down_goes_on_and_never_over_another_sea as test_copies,
)
from tests.scale.test_uri import test_every_command_takes_a_uri as test_every_command
from tests.scale.test_uri import test_the_same_rows_and_matches_as_on_disk as test_rows_and_matches
from tests.scale.test_uri import test_videos_at_a_uri_are_fetched_once as test_videos
from tests.scale.test_writers import test_adds_that_race_bring_each_clip_once as test_races

__all__ = [
    "run",
    "test_copies",
    "test_every_command",
    "test_races",
    "test_rows_and_matches",
    "test_videos",
]
pytestmark = pytest.mark.cluster
_folders = itertools.count()


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with azurite(tmp_path_factory.mktemp("azurite")) as options:
        yield options


@pytest.fixture
def bucket(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty folder of a container, with the credentials to it in the environment."""
    monkeypatch.setenv(OPTIONS, " ".join(f"{key}={value}" for key, value in options.items()))
    return f"az://tests/{next(_folders)}"


def test_credentials_come_from_azures_own_variables(
    bucket: str, options: dict[str, str], clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTIONS, "allow_http=true")
    for name, value in options.items():
        if name.startswith("azure_"):
            monkeypatch.setenv(name.upper(), value)
    where = ["--sea", f"{bucket}/s.sea", "--encoder", encoder, "--json"]
    done = seasync("add", str(clips / "dive"), *where)  # Lance looks at them once in a process
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["added"] == 3
    assert len(objects(f"{bucket}/s.sea/data")) == 1


def test_wrong_credentials_and_a_missing_container_are_said(bucket: str) -> None:
    wrong = {"azure_storage_account_key": base64.b64encode(bytes(64)).decode()}
    with pytest.raises(SeaError, match="the store refuses these credentials: check"):
        Sea(f"{bucket}/s.sea", storage_options=wrong)
    with pytest.raises(StoreError, match="the store refuses these credentials"):
        objects(bucket, wrong)
    with pytest.raises(SeaError, match=r"make the bucket \(or container\) first"):
        Sea("az://nowhere/s.sea")


def test_the_emulator_is_known_by_its_one_option() -> None:
    system, path = opened("az://tests/a.mp4", {"azure_storage_use_emulator": "true"})
    assert (type(system).__name__, path) == ("AzureFileSystem", "tests/a.mp4")
