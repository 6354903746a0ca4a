"""What the system refuses, such as a folder inside a file, is told in a line by every command."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from seasync import cli
from tests.cli.run import seasync


def test_what_the_system_refuses_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = seasync("demo", "--out", tmp_path / "file" / "demo")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"seasync: {tmp_path / 'file'}")
    assert "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "make room where you write to, in "),
        (OSError(errno.ENOSPC, "No space left on device", "/data/x.mp4"), "; make room in "),
        (
            OSError(errno.EROFS, "Read-only file system", "CACHE/encodings/a"),
            "; set SEASYNC_CACHE to a folder",
        ),
        (OSError(errno.EACCES, "Permission denied", "/elsewhere/a"), "Permission denied\n"),
    ],
)
def test_a_full_disk_and_a_read_only_cache_come_with_advice(
    error: OSError,
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(tmp_path))
    if error.filename:
        error.filename = error.filename.replace("CACHE", str(tmp_path))

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert advice in said
    assert said.count("\n") == 1
