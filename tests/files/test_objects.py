"""Storage options, and what is kept of them."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seasync.errors import SeasyncError, StoreError
from seasync.files import fetch, store as downloads, store as systems
from seasync.files.store import (
    OPTIONS,
    READ_PAUSES,
    add_storage_options,
    objects,
    opened,
    parse_options,
    read,
    storage_options,
    write,
)
from seasync.sea.sea import Sea
from tests.cli.run import seasync


@pytest.fixture(autouse=True)
def no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTIONS, "")


@pytest.mark.parametrize("value", ["a b", ' "quoted" ', "x=y", "{", "naïve\n", ""])
def test_options_come_back_as_they_went(value: str) -> None:
    add_storage_options(parse_options([f"AWS_SECRET_ACCESS_KEY={value}", "allow_http=true"]))
    assert storage_options() == {"aws_secret_access_key": value, "allow_http": "true"}
    add_storage_options({"allow_http": "false"})
    assert storage_options() == {"aws_secret_access_key": value, "allow_http": "false"}
    assert storage_options({"allow_http": "x"})["allow_http"] == "x"


def test_the_form_with_blanks_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTIONS, "aws_region=eu-west-1  allow_http=true")
    assert storage_options() == {"aws_region": "eu-west-1", "allow_http": "true"}


@pytest.mark.parametrize("text", ["{not json", '["a"]', "nonsense", "{}x"])
def test_what_is_neither_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(OPTIONS, text)
    with pytest.raises(StoreError, match="expected"):
        storage_options()


def test_a_value_with_a_blank_gets_through_the_command_line(tmp_path: Path) -> None:
    # Arrow's client says which file it cannot read: the value came through whole.
    where = [
        "--sea",
        "gs://bucket/s.sea",
        "--storage-option",
        f"google_service_account={tmp_path}/my key.json",
    ]
    done = seasync("sea", "info", *where)
    assert done.returncode == 1
    assert "my key.json" in done.stderr
    assert done.stderr.count("\n") == 1


def test_file_systems_are_kept_by_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"aws_region": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "hidden-value"}
    first, path = opened("s3://bucket/a.mp4", options)
    assert path == "bucket/a.mp4"
    monkeypatch.setenv("SOMETHING_ELSE", "1")
    assert opened("s3://bucket/b.mp4", options)[0] is first
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert opened("s3://bucket/b.mp4", options)[0] is not first
    for n in range(50):
        opened("s3://bucket/a.mp4", options | {"aws_session_token": str(n)})
        monkeypatch.setenv("ANOTHER", str(n))
        opened(Path("/tmp").as_uri())
    assert len(systems._kept) <= systems.KEPT
    assert "hidden-value" not in repr(list(systems._kept))


def test_downloads_remember_a_bounded_number_of_uris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setattr(downloads, "REMEMBERED", 10)
    monkeypatch.setattr(downloads, "_find_or_download", lambda location: tmp_path / location.name)
    for n in range(50):
        (tmp_path / f"{n}.mp4").touch()
        assert fetch(f"s3://bucket/{n}.mp4") == tmp_path / f"{n}.mp4"
    gc.collect()
    assert len(downloads._seen) <= 10
    assert len(downloads._locks) == 0


def test_local_files_are_not_copied(tmp_path: Path, own_cache: Path) -> None:
    file = tmp_path / "a b%20.mp4"
    file.write_bytes(b"x")
    assert fetch(file) == fetch(str(file)) == fetch(file.as_uri()) == file
    assert not list(own_cache.iterdir())
    assert [each.uri for each in objects(tmp_path.as_uri())] == [file.as_uri()]
    assert fetch(objects(tmp_path.as_uri())[0].uri) == file


def test_a_wrong_limit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(downloads.LIMIT, "much")
    with pytest.raises(SeasyncError, match="SEASYNC_VIDEO_CACHE_GB=much: expected a number"):
        downloads._limit_bytes()


def test_the_environment_of_other_processes_has_the_options() -> None:
    add_storage_options({"aws_region": "x y"})
    assert json.loads(os.environ[OPTIONS]) == {"aws_region": "x y"}


class Raced:
    """A store on which another process deletes the object during every read, before its content is sent.

    It writes the object again after each of the first `again` reads.
    """

    def __init__(self, uri: str, *, again: int) -> None:
        (self._system, self.path), self._again, self.reads = opened(uri), again, 0

    @contextmanager
    def open_input_stream(self, path: str) -> Iterator[object]:
        with self._system.open_input_stream(path) as stream:
            self.reads += 1
            self._system.delete_file(path)
            try:
                yield stream
            finally:
                if self.reads <= self._again:
                    with self._system.open_output_stream(path) as written:
                        written.write(b"short")

    def get_file_info(self, path: str) -> object:
        return self._system.get_file_info(path)


@pytest.mark.cluster
@pytest.mark.parametrize("again", [0, 1, 3])
def test_an_object_that_goes_while_it_is_read_is_not_there(
    bucket: str, monkeypatch: pytest.MonkeyPatch, again: int
) -> None:
    """Also one that its writer announces again and takes back each time."""
    uri = f"{bucket}/announcement"
    write(uri, b"short")
    raced = Raced(uri, again=again)
    monkeypatch.setattr("seasync.files.store.opened", lambda *_: (raced, raced.path))
    assert read(uri) is None
    assert raced.reads == again + 1


@pytest.mark.cluster
def test_a_read_that_never_succeeds_is_reported_after_some_tries(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"{bucket}/announcement"
    write(uri, b"short")
    raced = Raced(uri, again=10**6)
    monkeypatch.setattr("seasync.files.store.opened", lambda *_: (raced, raced.path))
    with pytest.raises(StoreError, match=rf"^{uri}: .*response stream"):
        read(uri)
    assert raced.reads == len(READ_PAUSES) + 1


def test_an_unencrypted_address_says_which_option_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ENDPOINT": "http://127.0.0.1:1",
        "ACCESS_KEY_ID": "a",
        "SECRET_ACCESS_KEY": "b",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with pytest.raises(SeasyncError, match="--storage-option allow_http=true"):
        Sea("s3://bucket/footage.sea", create=False)
