"""Every command of the docs runs, page by page and in the pages' order, in a folder with what they name."""

from __future__ import annotations

import asyncio
import glob
import os
import re
import shlex
import shutil
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from seasync.cli import main
from seasync.files.store import write
from seasync.sea.sea import Sea
from tests.docs.pages import DOCS, PAGES, commands, name_of
from tests.scale.store import free_ports

# The whole list of commands that are not run here, each with the reason.
NOT_RUN = {
    "seasync demo": "the tutorial runs `seasync demo --out demo`, which is the same",
    "seasync demo --out try --clips 24 --serve": "the same, and `seasync serve`, which others run",
    **dict.fromkeys(
        (
            "seasync sound mine.mp4 reference.mp4 --to with-sound.mp4",
            "seasync sound mine.mp4 --sea footage.sea --to with-sound.mp4",
        ),
        "the sample's clips have no sound; tests/render/test_sound.py has some",
    ),
    "seasync evaluate aligners my-clips/": "needs events; tests/evaluate/test_aligners.py has some",
    "seasync evaluate paper --penn Penn_Action/ --ucf UCF-101/ --byol byol.pth": (
        "needs the data sets; tests/evaluate/test_whole_paper.py makes small ones"
    ),
    "seasync models pull dinov2-small pose": "downloads; tests/encoders/test_weights.py pulls from a server",
}
TINY = "--steps 2 --width 16 --layers 1"
# Options that make a command small enough, by how it begins.
MORE = {
    "seasync demo": "--clips 16",
    "seasync train": f"{TINY} --batch 2",
    "seasync sea adapt": TINY,
    "seasync serve": "--port 0 --state state",
}
LEARNING = re.compile("seasync (train|sea adapt)")  # needs torch
STORE = ("s3://BUCKET", "s3://bucket")


def reword(command: str, meant: dict[str, str]) -> str:
    for word, other in meant.items():
        command = command.replace(word, other)
    return command


def at_a_store(command: str) -> bool:
    return any(place in command for place in STORE)


def failure(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command; what went wrong, or nothing."""
    more = max((start for start in MORE if command.startswith(start)), key=len, default="")
    words = shlex.split(f"{command} {MORE.get(more, '')}")
    monkeypatch.setattr("sys.argv", [each for word in words for each in _expanded(word)])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        begun = time.monotonic()
        with pytest.raises(SystemExit) as ended:
            main()
    said = capsys.readouterr()
    wrong = f"{command}\n{said.err}" if ended.value.code else ""
    print(f"{time.monotonic() - begun:.2f} s: {command} {wrong}", file=sys.__stderr__)  # shown with -s
    return wrong


def _expanded(word: str) -> list[str]:
    """What a shell makes of a word."""
    return (sorted(glob.glob(word)) if "*" in word else []) or [word]


@pytest.fixture(autouse=True)
def ends_when_it_answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """`seasync serve` and `mcp --http` answer one request and end; a browser is not opened."""
    answers: list[int] = []

    async def ask(server: uvicorn.Server) -> None:
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            with await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/") as answer:
                answers.append(answer.status)
        except urllib.error.HTTPError as answer:  # it asks for a token
            answers.append(answer.code)

    monkeypatch.setattr(uvicorn.Server, "main_loop", ask)
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)  # `mcp` ends where its assistant ends
        yield answers


def parts() -> Iterator[pytest.ParameterSet]:
    """The commands of each page; those that need an extra, or much time, apart from the others."""
    elsewhere = set(commands(DOCS / "evaluation.md"))
    for page in PAGES:
        shown = [each for each in commands(page) if not at_a_store(each) and each not in NOT_RUN]
        apart = [] if page.name == "training.md" else [each for each in shown if LEARNING.match(each)]
        tables = [each for each in shown if each.startswith("seasync evaluate") and page.name == "cli.md"]
        shown = [each for each in shown if each not in tables or each not in elsewhere]
        tables = [each for each in tables if each not in elsewhere]
        rest = [each for each in shown if each not in apart and each not in tables]
        for name, some in (("", rest), (" learning", apart), (" tables", tables)):
            if some:
                yield pytest.param(some, id=f"{name_of(page)}{name}")


@pytest.mark.parametrize("shown", [*parts()])
def test_the_commands_of_a_page_run(
    shown: list[str],
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ends_when_it_answers: list[int],
) -> None:
    if any(LEARNING.match(command) for command in shown):
        pytest.importorskip("torch")
    some = str(Sea("footage.sea").clips()[0].id)
    moved = shutil.copytree(place, tmp_path / "moved")
    meant = {
        "8fdab719": some[:8],
        "/new/place": str(moved),
        "/mnt/new/videos": str(moved / "clips"),
        "~/videos": str(place / "videos"),
        "--port 8770": f"--port {free_ports(1)[0]}",
    }
    failed = [failure(reword(command, meant), monkeypatch, capsys) for command in shown]
    assert not any(failed), "\n".join(filter(None, failed))
    servers = [each for each in shown if re.match("seasync (serve|mcp .*--http)", each)]
    assert len(ends_when_it_answers) == len(servers)
    assert set(ends_when_it_answers) <= {200, 401, 404}  # the page, a token is needed, `mcp` has no page


@pytest.mark.cluster
def test_the_commands_at_a_store_run(
    place: Path,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ends_when_it_answers: list[int],
) -> None:
    for file in (*place.glob("[ab].mp4"), *place.glob("films/*"), *place.glob("clips/*/*")):
        write(f"{bucket}/{file.relative_to(place).as_posix()}", file.read_bytes())
    assert not failure(f"seasync sea copy footage.sea {bucket}/footage.sea", monkeypatch, capsys)
    meant = {**dict.fromkeys(STORE, bucket), "--on auto": ""}  # tests/scale/test_ray.py has a cluster
    shown = [command for page in PAGES for command in commands(page) if at_a_store(command)]
    failed = [failure(reword(command, meant), monkeypatch, capsys) for command in shown]
    assert not any(failed), "\n".join(filter(None, failed))


def test_what_is_not_run_is_shown_somewhere() -> None:
    shown = {command for page in PAGES for command in commands(page)}
    assert set(NOT_RUN) <= shown
