"""A store that dies or breaks off in the middle: the old object stays, or none; never half of one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seasync.errors import SeaError, StoreError
from seasync.files import atomic_write, fetch, store as downloads, store as objects
from seasync.files.store import read, upload, write
from seasync.sea import copies as copying
from seasync.sea.copies import copy, differences
from seasync.sea.record import Record
from tests.scale.store import Store, running
from tests.sea.footage import facts, row

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A store that a test may stop."""
    with running(tmp_path_factory.mktemp("own")) as store:
        store.bucket("tests")
        yield store


@pytest.fixture
def mortal(own_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name, value in own_store.environment.items():
        monkeypatch.setenv(name, value)
    if not own_store.is_running:  # the test before has stopped it, and failed
        own_store.start()
    return own_store


def patiently(ask: Callable[[], Any]) -> Any:
    """What a store answers that has started again: at first it may not find its own volumes."""
    for _ in range(60):
        try:
            return ask()
        except StoreError:
            threading.Event().wait(0.5)
    return ask()


def test_a_store_that_dies_during_an_upload_keeps_the_old_object(
    mortal: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "CHUNK", 6 << 20)
    write("s3://tests/film.mp4", b"old")
    file = tmp_path / "film.mp4"
    file.write_bytes(bytes(40 << 20))
    real = Path.open

    class Stopping:
        def __init__(self, opened: Any) -> None:
            self._opened, self._count = opened, 0

        def __enter__(self) -> Stopping:
            return self

        def __exit__(self, *error: object) -> None:
            self._opened.close()

        def read(self, size: int) -> Any:
            self._count += 1
            if self._count == 4:
                mortal.stop()
            return self._opened.read(size)

    monkeypatch.setattr(Path, "open", lambda path, mode="r", **how: Stopping(real(path, mode, **how)))
    with pytest.raises(StoreError, match=r"s3://tests/film\.mp4: .*the store does not answer"):
        upload(file, "s3://tests/film.mp4")
    monkeypatch.undo()
    for name, value in mortal.environment.items():
        monkeypatch.setenv(name, value)
    mortal.start()
    assert patiently(lambda: read("s3://tests/film.mp4")) == b"old"
    upload(file, "s3://tests/film.mp4")
    assert len(read("s3://tests/film.mp4") or b"") == 40 << 20


def test_an_output_that_cannot_be_uploaded_leaves_nothing_here(
    mortal: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def half() -> None:
        with atomic_write("s3://tests/none/a.txt") as part:
            part.write_text("new")
            mortal.stop()

    with pytest.raises(StoreError, match=r"s3://tests/none/a\.txt: .*the store does not answer"):
        half()
    assert list(tmp_path.iterdir()) == []
    mortal.start()
    assert read("s3://tests/none/a.txt") is None


def test_a_store_that_is_gone_does_not_stop_what_is_cached(
    mortal: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("s3://tests/a.mp4", b"content")
    path = fetch("s3://tests/a.mp4")
    mortal.stop()
    assert fetch("s3://tests/a.mp4") == path  # for as long as it is believed to be unchanged
    monkeypatch.setattr(downloads, "FRESH_SECONDS", 0.0)
    with pytest.raises(StoreError, match=r"s3://tests/a\.mp4: .*the store does not answer"):
        fetch("s3://tests/a.mp4")
    mortal.start()
    assert fetch("s3://tests/a.mp4").read_bytes() == b"content"


class Breaking:
    """A file system from which some file cannot be read to its end."""

    def __init__(self, system: Any, name: str, after: int) -> None:
        self._system, self._name, self._after = system, name, after

    def open_input_stream(self, path: str) -> Any:
        stream = self._system.open_input_stream(path)
        return Cut(stream, self._after) if self._name in path else stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)


class Cut:
    def __init__(self, stream: Any, after: int) -> None:
        self._stream, self._left = stream, after

    def __enter__(self) -> Cut:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def read(self, size: int | None = None) -> Any:
        self._left -= 1
        if self._left < 0:
            raise OSError("Curl error 56: connection reset")
        return self._stream.read(100 if size is not None else None)


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize(("name", "after"), [("manifest", 0), ("data", 0), ("data", 1), ("data", 3)])
def test_a_copy_whose_source_breaks_off_is_no_sea_and_goes_on(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, up: bool, name: str, after: int
) -> None:
    sea = Record(tmp_path / "s.sea")
    sea.append([row(n) for n in range(4)], facts())
    place = f"{bucket}/t.sea" if up else str(tmp_path / "t.sea")
    target, source = Record(place), str(tmp_path / "s.sea")

    def breaking(uri: str, options: Any = None) -> Any:
        system, path = objects.opened(uri, options)
        return (Breaking(system, name, after) if path.startswith(source) else system), path

    monkeypatch.setattr(copying, "opened", breaking)
    with pytest.raises(SeaError, match="connection reset"):
        copy(sea, target)
    assert not target.exists()
    monkeypatch.setattr(copying, "opened", objects.opened)
    copy(sea, target)
    assert differences(sea, target) == {}
