"""A disk that is full at any point of any write: one line that names the file, and nothing half-written."""

from __future__ import annotations

import errno
import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seasync.alignment import Alignment
from seasync.encoders import encode as encodings
from seasync.errors import SeasyncError
from seasync.files import atomic_write, fetch, local as atomic, store as downloads, write_text
from seasync.files.store import Object
from seasync.render import alignment_picture, compare, export, replace_clip, transfer
from seasync.render.sound import write_sound
from tests.render.aligned import bent, clicks, whole
from tests.sea.footage import encoding
from tests.videos import numbered

PAGE = 4096
PAGES = 160  # of the small disk
Write = Callable[[Path, Alignment], object]  # writes a file into a folder


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 640 KB."""
    folder = tmp_path_factory.mktemp("disk")
    options = f"size={PAGES * PAGE}"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Alignment:
    folder = tmp_path_factory.mktemp("pair")
    query = numbered(folder / "query.mp4", 12, sound=clicks((0.1,), 0.4, tone=330.0))
    match = numbered(folder / "match.mp4", 15, sound=clicks((0.2,), 0.5, tone=440.0))
    (folder / "labels.csv").write_text(
        "seconds,name\n" + "".join(f"{n / 100},{'x' * 400}\n" for n in range(30))
    )
    (folder / "labels.srt").write_text("1\n00:00:00,000 --> 00:00:00,300\n" + "up " * 3000 + "\n\n")
    return whole(query, match, bent((0.0, 0.4), (0.05, 0.45)))


def beside(aligned: Alignment, name: str) -> Path:
    assert aligned.query is not None
    return Path(aligned.query.file).with_name(name)


def _replace(folder: Path, aligned: Alignment) -> None:
    edit = beside(aligned, "edit.fcpxml")
    export(aligned, edit)
    replace_clip(edit, "1", lambda query: aligned, folder / "new.fcpxml")


def _strip(folder: Path, aligned: Alignment) -> None:
    from seasync.serve.media import write_picture_strip

    write_picture_strip(
        str(beside(aligned, "query.mp4")), [0.0, 0.1, 0.2], (320, 240), str(folder / "strip.jpg")
    )


def _proxy(folder: Path, aligned: Alignment) -> None:
    from seasync.serve.media import make_proxy

    make_proxy(str(beside(aligned, "query.mp4")), str(folder / "proxy.mp4"), lambda news: None)


def _report(folder: Path, aligned: Alignment) -> None:
    from seasync.evaluate.results import write_report

    write_report([], folder / "report.html", title="long " * 4000)


def _export(suffix: str) -> Write:
    return lambda folder, aligned: export(aligned, folder / f"edit{suffix}")


def _transfer(suffix: str) -> Write:
    return lambda folder, aligned: transfer(
        aligned, beside(aligned, f"labels{suffix}"), folder / f"carried{suffix}"
    )


WRITES: dict[str, Write] = {
    **{f"edit{suffix}": _export(suffix) for suffix in (".otio", ".fcpxml", ".edl", ".xml", ".csv", ".json")},
    **{f"carried{suffix}": _transfer(suffix) for suffix in (".csv", ".srt")},
    "film.mp4": lambda folder, aligned: compare(aligned, folder / "film.mp4"),
    "film.webm": lambda folder, aligned: compare(aligned, folder / "film.webm"),
    "film.gif": lambda folder, aligned: compare(aligned, folder / "film.gif"),
    "picture.png": lambda folder, aligned: alignment_picture(aligned, folder / "picture.png"),
    "picture.svg": lambda folder, aligned: alignment_picture(aligned, folder / "picture.svg"),
    "sound.wav": lambda folder, aligned: write_sound(aligned, folder / "sound.wav"),
    "text.txt": lambda folder, aligned: write_text(folder / "text.txt", "text " * 9000),
    "new.fcpxml": _replace,
    "strip.jpg": _strip,
    "proxy.mp4": _proxy,
    "report.html": _report,
}


def free_pages(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize // PAGE


def leave(disk: Path, pages: int) -> None:
    """Fill the disk so that this many pages are free."""
    with (disk / "filler").open("ab") as filler:
        filler.write(bytes(max(0, free_pages(disk) - pages) * PAGE))
    assert free_pages(disk) == pages


def opened() -> list[str]:
    """The files that this process has open, where the system tells."""
    numbers = Path("/proc/self/fd")
    found = []
    for number in numbers.iterdir() if numbers.is_dir() else ():
        with suppress(OSError):
            found.append(os.readlink(number))
    return found


@pytest.mark.parametrize("name", WRITES)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(disk: Path, aligned: Alignment, name: str) -> None:
    pytest.importorskip("fastapi") if name in ("strip.jpg", "proxy.mp4") else None
    failed = 0
    for pages in (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 130):
        for file in disk.iterdir():
            file.unlink()
        (disk / name).write_bytes(b"old")
        leave(disk, pages)
        message = ""
        try:
            WRITES[name](disk, aligned)
        except SeasyncError as error:
            message = str(error)
        assert {file.name for file in disk.iterdir()} == {"filler", name}
        assert [file for file in opened() if file.startswith(str(disk))] == []
        if not message:
            break
        failed += 1
        assert message.startswith(f"{disk / name}: ")
        assert "No space left on device; make room" in message
        assert "\n" not in message
        assert (disk / name).read_bytes() == b"old"
    assert failed
    assert (disk / name).read_bytes() != b"old"


def test_encodings_that_cannot_be_stored_are_no_error(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(disk / "cache"))
    for file in disk.iterdir():
        file.unlink()
    leave(disk, 3)
    encodings.store("ab" * 20, encoding(1, frames=2000))
    assert encodings.load("ab" * 20) is None
    assert [file for file in (disk / "cache").rglob("*") if file.is_file()] == []


class Steps:
    """`os` whose n-th call of those that may fail on a full or broken disk fails."""

    def __init__(self, fails_at: int, number: int) -> None:
        self.calls, self._fails_at, self._number = 0, fails_at, number

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if name not in ("fsync", "replace", "scandir", "getpid"):
            return found

        def step(*given: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self._fails_at:
                raise OSError(self._number, os.strerror(self._number))
            return found(*given, **options)

        return step


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_each_step_of_a_write_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    target = tmp_path / "a.txt"
    for fails_at in range(1, 10):
        target.write_bytes(b"old")
        steps = Steps(fails_at, number)
        monkeypatch.setattr(atomic, "os", steps)
        message = ""
        try:
            with atomic_write(target) as part:
                part.write_bytes(b"new")
        except SeasyncError as error:
            message = str(error)
        assert message.startswith(f"{target}: cannot be written ({os.strerror(number)}" if message else "")
        assert target.read_bytes() == (b"old" if message else b"new")
        assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
        if steps.calls < fails_at:
            break
    assert fails_at > 3


class Flaky(io.BytesIO):
    """A stream from a store that breaks off."""

    def __init__(self, content: bytes, after: int) -> None:
        super().__init__(content)
        self._left = after

    def read(self, size: int | None = -1, /) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise OSError("Curl error 56: connection reset")
        return super().read(min(size or 1000, 1000))


class Store:
    """One object of 5,000 bytes, read in pieces; the n-th read fails."""

    def __init__(self) -> None:
        self.after, self.content = 10_000, np.arange(5000, dtype=np.uint8).tobytes()

    def open_input_stream(self, path: str) -> Flaky:
        return Flaky(self.content, self.after)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store()
    monkeypatch.setattr(downloads, "opened", lambda uri: (store, uri))
    monkeypatch.setattr(downloads, "objects", lambda uri: [Object(uri, len(store.content), 1.0)])
    monkeypatch.setattr(downloads, "FRESH_SECONDS", 0.0)
    return store


def test_a_download_that_breaks_off_leaves_nothing(store: Store, own_cache: Path) -> None:
    for after in range(6):
        store.after = after
        with pytest.raises(SeasyncError, match=r"s3://b/a\.mp4: cannot be fetched \(.*connection reset"):
            fetch("s3://b/a.mp4")
        assert [file for file in own_cache.rglob("*") if file.is_file()] == []
    store.after = 10_000
    assert fetch("s3://b/a.mp4").read_bytes() == store.content


def test_a_download_onto_a_full_or_read_only_disk(
    store: Store, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(disk / "cache"))
    for file in disk.glob("*"):
        file.unlink() if file.is_file() else None
    leave(disk, 1)
    with pytest.raises(SeasyncError, match=r"s3://b/a\.mp4: 0 MB do not fit into the cache .*SEASYNC_CACHE"):
        fetch("s3://b/a.mp4")
    (disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    try:
        with pytest.raises(SeasyncError, match=r"s3://b/a\.mp4: .*Read-only file system.*SEASYNC_CACHE"):
            fetch("s3://b/a.mp4")
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert fetch("s3://b/a.mp4").read_bytes() == store.content
