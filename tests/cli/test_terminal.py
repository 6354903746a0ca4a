"""Terminals of all kinds, quiet runs, log files, completion, and the doctor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from seasync.doctor import examine
from tests.cli.run import seasync
from tests.encoders.models import colour_grid
from tests.videos import numbered

COLOR = re.compile(r"[\[;](?:3[0-8]|4[0-8]|9\d)[;m]")
NOISY = """
import warnings, sys, seasync.cli, seasync.pair
from seasync.cli.output import progress
def noisy(*_, **__):
    warnings.warn("careful")
    print("failed: a.mp4: broken", file=sys.stderr)
    with progress("reading") as show:
        for n in range(5): show("reading a.mp4", n, 5)
    raise seasync.SeasyncError("it ends here")
seasync.cli.app.registered_commands[0].callback = noisy
seasync.cli.main()
"""


def noisy(*options: str, command: str = "align") -> subprocess.CompletedProcess[str]:
    """A command that warns, shows progress, names a file that failed, and fails itself."""
    run = [sys.executable, "-c", NOISY, *options, command, "a.mp4", "b.mp4"]
    return subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)


def on_terminal(*command: str, **variables: str) -> str:
    """What a command shows on a terminal."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals of this kind")
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_COLOR")}
    environment = {**plain, "TERM": "xterm-256color", **variables}
    shown = b""
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # how Linux reports that the other end is closed
            pass
    os.close(ours)
    return shown.decode()


def test_a_first_download_is_told_on_stderr_unless_the_run_is_quiet(tmp_path: Path) -> None:
    script = """
import logging, seasync.cli
seasync.cli.app.registered_commands[0].callback = lambda: logging.getLogger("seasync.weights").info("first")
seasync.cli.main()
"""
    for quiet, said in ([], "seasync: first\n"), (["--quiet"], ""):
        command = [sys.executable, "-c", script, *quiet, "align"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", said)


def test_quiet_shows_only_what_failed() -> None:
    assert "warning: careful" in noisy().stderr
    done = noisy("--quiet")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["failed: a.mp4: broken", "seasync: it ends here"]


def test_quiet_shows_wrong_usage() -> None:
    done = seasync("--quiet", "align", "a.mp4", "b.mp4", "--partial", "sometimes")
    assert done.returncode == 2
    assert "'sometimes' is not one of" in done.stderr


def test_the_log_file_has_every_line_with_its_time_and_no_secret(tmp_path: Path) -> None:
    log = tmp_path / "seasync.log"
    for quiet in ([], ["--quiet"]):
        noisy(*quiet, "--log-file", str(log))
    lines = log.read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in lines)
    said = [line[20:] for line in lines]
    assert said[0].startswith("$ seasync --log-file")
    assert said[1:4] == ["seasync: warning: careful", "failed: a.mp4: broken", "seasync: it ends here"]
    assert said[5:] == said[1:4]
    seasync("--log-file", log, "search", "a", "--sea", "x", "--storage-option", "aws_secret_access_key=abc")
    assert "abc" not in log.read_text()


def test_no_color_and_dumb_terminals() -> None:
    help_page = (sys.executable, "-m", "seasync", "--help")
    assert COLOR.search(on_terminal(*help_page, FORCE_COLOR="1"))
    assert not COLOR.search(on_terminal(*help_page, NO_COLOR="1"))
    assert "\x1b" not in on_terminal(*help_page, TERM="dumb")
    moving = (sys.executable, "-c", NOISY, "align", "a.mp4", "b.mp4")
    assert "\x1b[" in on_terminal(*moving)
    still = on_terminal(*moving, TERM="dumb")
    assert "\x1b" not in still
    assert "it ends here" in still


@pytest.mark.parametrize("command", ["align", "find", "render"])
def test_on_a_terminal_commands_show_what_they_read(tmp_path: Path, command: str) -> None:
    query, match = (numbered(tmp_path / f"{name}.mp4", 12, width=64, height=48) for name in "ab")
    encoder = f"onnx:{colour_grid(tmp_path / 'grid.onnx')}"
    where = ("--to", str(tmp_path / "film.mp4")) if command == "render" else ()
    given = (command, str(query), str(match), "--encoder", encoder, *where)
    assert "reading a.mp4" in on_terminal(sys.executable, "-m", "seasync", *given)


def test_completion_knows_the_commands() -> None:
    asked = {"_SEASYNC_COMPLETE": "complete_bash", "COMP_WORDS": "seasync al", "COMP_CWORD": "1"}
    program = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'seasync'; from seasync.cli import main; main()",
    ]
    done = subprocess.run(program, capture_output=True, text=True, env=os.environ | asked, timeout=60)
    assert done.stdout.split() == ["align"]


def test_the_doctor_finds_everything_at_hand(tmp_path: Path) -> None:
    done = seasync("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert checks["FFmpeg"]["state"] == checks["cache folder"]["state"] == "ok"
    assert checks["weights"]["state"] == "note"  # each test has an empty cache
    assert "seasync models pull" in checks["weights"]["advice"]
    assert "evaluate installed" in checks["extras"]["found"]
    assert done.returncode == 0
    assert "→" in seasync("doctor").stdout


def test_the_doctor_reports_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(numbered(tmp_path / "a.mp4", 1) / "cache"))
    done = seasync("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert done.returncode == 1
    assert checks["cache folder"]["state"] == "fails"
    assert checks["cache folder"]["advice"] == "set SEASYNC_CACHE to another folder"


def test_the_doctor_reports_what_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A codec that is missing, a library that raises, a disk that is nearly full."""
    monkeypatch.setattr("av.codecs_available", {"aac"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("seasync.doctor.LOW_DISK_BYTES", 1e18)
    monkeypatch.setattr("seasync.encoders.onnx.active_device", lambda: 1 / 0)
    found = {check.name: check for check in examine()}
    assert found["FFmpeg"].state == "fails"
    assert "without libx264" in found["FFmpeg"].found
    assert found["sound"].state == "note"
    assert found["device"].state == "fails"
    assert found["device"].found == "ZeroDivisionError: division by zero"
    assert found["cache folder"].state == "note"
    assert "make room" in found["cache folder"].advice


def test_models_are_listed_for_people_and_programs() -> None:
    told = json.loads(seasync("models", "list", "--json").stdout)
    printed = seasync("models", "list").stdout
    for model in told:
        assert model["file"] is None  # each test has an empty cache
        assert f"{model['weights']}  {model['bytes'] / 1e6:.1f} MB  {model['license']}" in printed
        assert f"not downloaded yet: seasync models pull {model['encoders'][0]}" in printed


def test_models_that_are_at_hand_are_ready(tmp_path: Path) -> None:
    model = colour_grid(tmp_path / "grid.onnx")
    done = seasync("models", "pull", f"onnx:{model}")
    assert done.stdout.startswith(f"onnx:{model}: ready (48 values per frame, ")


@pytest.mark.skipif(sys.platform == "win32", reason="no such file names")
def test_names_neither_command_the_terminal_nor_end_a_command(tmp_path: Path) -> None:
    names = ["a\x1b]0;title\x07\x1b[31m.mp4", "ü漢.mp4"]
    for number, name in enumerate(names):
        numbered(tmp_path / "a.mp4", 20 + number)
        (tmp_path / "clips").mkdir(exist_ok=True)
        (tmp_path / "a.mp4").rename(tmp_path / "clips" / name)
    sea, encoder = tmp_path / "x.sea", f"onnx:{colour_grid(tmp_path / 'grid.onnx')}"
    seasync("add", tmp_path / "clips", "--sea", sea, "--encoder", encoder)
    search = "search", tmp_path / "clips" / "ü漢.mp4", "--sea", sea
    for command in (("sea", "list", "--sea", sea), search):
        shown = [sys.executable, "-m", "seasync", *map(str, command)]
        plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        done = subprocess.run(shown, capture_output=True, env=os.environ | plain, check=False, timeout=300)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"\x1b" not in done.stdout
        assert b"a\\x1b]0;title\\x07" in done.stdout
        assert command is search or b"\\u6f22.mp4" in done.stdout
