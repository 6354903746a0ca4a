"""Names that are not UTF-8, and things in a folder that are not files: one failed line each, no more."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from seasync.errors import VideoError
from seasync.files.location import expect_ordinary, printable
from seasync.sea.sea import Sea
from seasync.video import probe
from tests.cli.run import seasync

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither")


@pytest.fixture
def folder(tmp_path: Path, clips: Path) -> Path:
    """Three videos."""
    return Path(shutil.copytree(clips / "dive", tmp_path / "folder"))


def named(folder: Path, name: bytes) -> Path:
    return Path(os.fsdecode(os.fsencode(folder) + b"/" + name))


def test_a_name_that_is_not_utf8_is_one_failed_line(folder: Path, tmp_path: Path, encoder: str) -> None:
    (folder / "001.mp4").rename(named(folder, b"caf\xe9.mp4"))
    added = Sea(tmp_path / "s.sea", encoder).add(folder)
    assert added.added == 2
    assert [failure.reason for failure in added.failed] == [
        f"{folder}/caf\\xe9.mp4: the name is not valid UTF-8; rename the file or folder"
    ]
    done = seasync("add", folder, "--sea", tmp_path / "t.sea", "--encoder", encoder)
    assert (done.returncode, done.stderr.count("failed: ")) == (1, 1)
    assert "Traceback" not in done.stderr
    assert "2 clips added" in done.stdout


def test_a_folder_whose_name_is_not_utf8(folder: Path, tmp_path: Path, encoder: str) -> None:
    inside = named(folder, b"\xff")
    inside.mkdir()
    shutil.copy(folder / "001.mp4", inside / "a.mp4")
    added = Sea(tmp_path / "s.sea", encoder).add(folder, labels="folder")
    assert (added.added, len(added.failed)) == (3, 1)


def test_pictures_whose_names_are_not_utf8_are_read(tmp_path: Path, encoder: str) -> None:
    from PIL import Image

    (tmp_path / "frames").mkdir()
    for n in range(6):
        Image.new("RGB", (64, 64), (40 * n, 0, 0)).save(named(tmp_path / "frames", b"\xe9%d.png" % n))
    assert Sea(tmp_path / "s.sea", encoder).add(tmp_path / "frames").added == 1


@pytest.mark.timeout(120)
def test_fifos_sockets_and_devices_do_not_hang_an_add(
    folder: Path, tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(folder / "fifo.mp4")
    (folder / "device.mp4").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(folder)  # the names of sockets are short
        server.bind("socket.mp4")
        added = Sea(tmp_path / "s.sea", encoder).add(folder)
    assert added.added == 3
    assert sorted(
        failure.reason.removeprefix(f"{folder}/").split(", not")[0] for failure in added.failed
    ) == ["device.mp4: a device", "fifo.mp4: a FIFO", "socket.mp4: a socket"]


@pytest.mark.timeout(120)
def test_a_fifo_as_a_video_is_refused(tmp_path: Path, clips: Path, encoder: str) -> None:
    fifo = tmp_path / "a.mp4"
    os.mkfifo(fifo)
    with pytest.raises(VideoError, match=r"a\.mp4: a FIFO, not a file"):
        probe(fifo)
    done = seasync("align", fifo, clips / "dive/001.mp4", "--encoder", encoder)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_names_are_printable() -> None:
    assert printable("caf\udce9.mp4") == "caf\\xe9.mp4"
    assert printable("\ud800.mp4") == "\\ud800.mp4"
    assert printable("café.mp4") == "café.mp4"
    expect_ordinary("none.mp4")  # what is missing is told elsewhere


def test_a_film_with_such_a_name_is_made_and_named(tmp_path: Path, clips: Path, encoder: str) -> None:
    query, match = sorted((clips / "dive").iterdir())[:2]
    film = named(tmp_path, b"caf\xe9.mp4")
    shutil.copy(query, query := named(tmp_path, b"\xe9.mp4"))
    command = [sys.executable, "-m", "seasync", "render", query, match, "--to", film, "--encoder", encoder]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}  # as in most users' locales
    done = subprocess.run(command, capture_output=True, check=False, timeout=300, env=strict)
    assert done.returncode == 0, done.stderr
    assert os.fsencode(film) in done.stdout
    assert probe(film).width == 128
