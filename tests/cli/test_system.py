"""What the system refuses, such as a folder inside a file, is told in a line by every command."""

from __future__ import annotations

from pathlib import Path

from tests.cli.run import seasync


def test_what_the_system_refuses_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = seasync("demo", "--out", tmp_path / "file" / "demo")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"seasync: {tmp_path / 'file'}")
    assert "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr
