"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seasync.errors import RenderError, SeasyncError
from seasync.files import atomic_write, expect_writable, local as atomic


def put(target: Path, content: bytes, fails: BaseException | None = None) -> None:
    """Write `content`, then fail if asked to."""
    with atomic_write(target, make_folder=True, error=RenderError) as part:
        part.write_bytes(content)
        if fails:
            raise fails


def left(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "film.mp4"
    with atomic_write(target) as part:
        assert (part.parent, part.suffix) == (tmp_path, ".mp4")
        part.write_bytes(b"new")
        assert not target.exists()
    assert target.read_bytes() == b"new"
    assert left(tmp_path) == ["film.mp4"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_ends_in_an_error_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "film.mp4"
    target.write_bytes(b"old")
    with pytest.raises(error):
        put(target, b"half", error())
    assert target.read_bytes() == b"old"
    assert left(tmp_path) == ["film.mp4"]


def test_writers_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    target, barrier, errors = tmp_path / "a.bin", threading.Barrier(8), []

    def write(n: int) -> None:
        try:
            with atomic_write(target) as part:
                part.write_bytes(bytes([n]) * 100_000)
                barrier.wait()
        except (OSError, SeasyncError) as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    content = target.read_bytes()
    assert (len(content), len(set(content))) == (100_000, 1)
    assert left(tmp_path) == ["a.bin"]


def test_a_killed_writer_changes_nothing_and_its_traces_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    code = (
        "import os, signal, sys\nfrom seasync.files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as part:\n    part.write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"
    assert len(left(tmp_path)) == 2
    with atomic_write(target) as part:  # another process may still be at work on it
        part.write_bytes(b"new")
    assert len(left(tmp_path)) == 2
    monkeypatch.setattr(atomic, "ABANDONED_SECONDS", -1.0)
    with atomic_write(target) as part:
        part.write_bytes(b"newer")
    assert left(tmp_path) == ["a.bin"]


def test_the_target_of_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.txt").write_text("old")
    link = tmp_path / "a.txt"
    link.symlink_to(tmp_path / "there/a.txt")
    with atomic_write(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "there/a.txt").read_text() == "new"


def test_long_names_have_room_for_a_temporary_one(tmp_path: Path) -> None:
    target = tmp_path / ("ä" * 125 + ".mp4")
    with atomic_write(target) as part:
        part.write_bytes(b"x")
    assert target.read_bytes() == b"x"


def test_a_file_that_is_open_elsewhere_is_waited_for_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class System:
        name = "nt"
        tries = 0

        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

        def replace(self, source: Path, target: Path) -> None:
            self.tries += 1
            if self.tries < 4:
                raise PermissionError(errno.EACCES, "in use", str(target))
            os.replace(source, target)

    monkeypatch.setattr(atomic, "os", System())
    with atomic_write(tmp_path / "a.txt") as part:
        part.write_text("new")
    assert (tmp_path / "a.txt").read_text() == "new"
    monkeypatch.setattr(atomic, "RENAME_SECONDS", 0.0)
    monkeypatch.setattr(atomic, "os", System())
    with pytest.raises(RenderError, match=r"a\.txt: cannot be written \(in use; .*close programs"):
        put(tmp_path / "a.txt", b"newer")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert left(tmp_path) == ["a.txt"]


def test_errors_name_the_file_and_what_to_do(tmp_path: Path, own_cache: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(RenderError, match=r"film\.mp4: cannot be written \(No space left .*make room, or"):
        put(tmp_path / "film.mp4", b"x", full)
    for number in (errno.ENOSPC, errno.EROFS, errno.EACCES):
        with pytest.raises(RenderError, match=r"a\.npz: cannot be written \(.*SEASYNC_CACHE"):
            put(own_cache / "encodings/a.npz", b"x", OSError(number, os.strerror(number)))


def test_an_error_about_another_file_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.mp4"), atomic_write(tmp_path / "a.txt"):
        (tmp_path.parent / "elsewhere/none.mp4").read_bytes()


def test_what_cannot_be_written_is_said_before(tmp_path: Path) -> None:
    source = tmp_path / "query.mp4"
    source.write_bytes(b"x")
    (tmp_path / "link.mp4").symlink_to(source)
    for target, says in (
        (tmp_path / "none/a.mp4", "there is no folder"),
        (tmp_path, "is not a file"),
        (source, "would overwrite one of the inputs"),
        (tmp_path / "link.mp4", "would overwrite one of the inputs"),
    ):
        with pytest.raises(RenderError, match=says):
            expect_writable(target, sources=[source, tmp_path / "gone.mp4"], error=RenderError)
    expect_writable(tmp_path / "new.mp4", sources=[source], error=RenderError)


def test_a_temporary_file_that_is_fresh_stays(tmp_path: Path) -> None:
    old, fresh = (tmp_path / f".a.{n}-00.part.txt" for n in (1, 2))
    other = tmp_path / ".b.1-00.part.txt"
    for file in (old, fresh, other):
        file.touch()
    for file in (old, other):
        os.utime(file, (time.time() - 2 * atomic.ABANDONED_SECONDS,) * 2)
    with atomic_write(tmp_path / "a.txt") as part:
        part.write_text("x")
    assert left(tmp_path) == sorted([fresh.name, other.name, "a.txt"])
