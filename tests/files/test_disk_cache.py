"""A cache stays within its limit, keeps what is used, and is never the reason of an error."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from seasync.files import DiskCache


def fill(cache: DiskCache, count: int, size: int = 100) -> list[Path]:
    """Files of `size` bytes, each used a minute after the one before."""
    files = []
    for n in range(count):
        file = cache.place(n, suffix=".bin")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(size))
        os.utime(file, (time.time() - (count - n) * 60,) * 2)
        files.append(file)
    return files


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", 350)
    files = fill(cache, 6)
    assert cache.find(1, suffix=".bin") == files[1]
    assert cache.trim() == 300
    assert [n for n, file in enumerate(files) if file.exists()] == [1, 4, 5]
    assert cache.find(0, suffix=".bin") is None


def test_using_a_file_does_not_change_when_it_was_written(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1000)
    (file,) = fill(cache, 1)
    before = file.stat()
    cache.find(0, suffix=".bin")
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert file.stat().st_atime > before.st_atime


def test_a_file_that_cannot_be_deleted_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(tmp_path, 250)
    files = fill(cache, 5)
    unlink = Path.unlink

    def refuse(self: Path, missing_ok: bool = False) -> None:
        if self == files[0]:
            raise PermissionError(13, "in use", str(self))
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    assert cache.trim() == 200
    assert [n for n, file in enumerate(files) if file.exists()] == [0, 4]


def test_a_file_that_vanishes_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(tmp_path, 150)
    files = fill(cache, 4)
    stat = os.stat

    def vanishing(path: str, *args: object, **options: object) -> os.stat_result:
        if str(path) == str(files[1]):
            files[1].unlink(missing_ok=True)
        return stat(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", vanishing)
    assert cache.trim() == 100
    assert DiskCache(tmp_path / "none", 1).trim() == 0


def test_what_was_just_used_stays_even_over_the_limit(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 150, in_use_seconds=90)
    files = fill(cache, 4)
    cache.trim()
    assert [n for n, file in enumerate(files) if file.exists()] == [3]
    cache.find(3, suffix=".bin")
    cache.limit_bytes = 0
    assert cache.trim() == 100


def test_room_is_made_for_what_comes(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 400)
    fill(cache, 4)
    assert cache.trim(spare_bytes=150) == 200


def test_writing_one_by_one_stays_within_the_limit(tmp_path: Path) -> None:
    cache, looks = DiskCache(tmp_path, 100_000), 0
    for n in range(500):
        file = cache.place(n, suffix=".bin")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(1000))
        cache.trim_after(file)
        looks += cache._room == 100_000 / 32
        assert sum(each.stat().st_size for each in tmp_path.glob("*/*")) <= 100_000
    assert looks < 500 / 3 + 2
