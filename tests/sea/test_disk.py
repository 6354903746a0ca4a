"""No room, no rights: a clear error, and the sea as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seasync.errors import SeaError
from seasync.sea.sea import Sea
from tests.sea.footage import facts, row
from tests.sea.test_ingest import contents


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_said_and_the_sea_stays_as_it_was(disk: Path) -> None:
    sea = Sea(disk / "s.sea")
    sea.record.append([row(n) for n in range(3)], facts())
    before = contents(sea)
    with pytest.raises(SeaError, match="the disk is full, make room"):
        sea.record.append([row(n, frames=2000) for n in range(10, 60)], facts())
    assert contents(Sea(disk / "s.sea")) == before
    assert sea.verify(files=False) == []
    sea.record.append([row(3)], facts())
    assert len(sea) == 4


def test_a_full_disk_ends_an_add_with_one_line(disk: Path, clips: Path, encoder: str) -> None:
    (disk / "filler").write_bytes(b"\0" * (1000 << 10))
    with pytest.raises(SeaError, match="the disk is full"):
        Sea(disk / "s.sea", encoder).add(clips)
    (disk / "filler").unlink()
    assert Sea(disk / "s.sea", encoder).add(clips).added == 9


def test_a_read_only_sea_is_searched_but_not_written(disk: Path, clips: Path, encoder: str) -> None:
    Sea(disk / "s.sea", encoder).add(clips / "dive")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    sea = Sea(disk / "s.sea")
    for write in (lambda: sea.add(clips), lambda: sea.remove(labels=["x"]), lambda: sea.rebuild()):
        with pytest.raises(SeaError, match="cannot be written"):
            write()
    assert len(sea.search(clips / "circle/000.mp4")) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_rights_is_said(tmp_path: Path, clips: Path, encoder: str) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(SeaError, match="cannot be written"):
        Sea(tmp_path / "locked/s.sea", encoder).add(clips)
