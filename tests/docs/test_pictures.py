"""Terminals in the docs show what the commands print today: else run docs/make_pictures.py again."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seasync.cli import app
from tests.docs.pages import DOCS
from tests.docs.test_messages import texts

# What each command prints whatever the videos are.
FIXED = {
    "align mine.mp4 reference.mp4": ("path cost", "usually off by about", "query match match plays at"),
    "find query.mp4 film.mp4": ("DRAQ timing similarity from to film",),
    "group model.mp4 pupils/ --marks model.csv": ("takes on the clock of", "take DRAQ off the group tempo"),
    "sea info --sea footage.sea": (
        "clips of",
        "encoder",
        "stored frame features of",
        "index",
        "labels",
        "format",
    ),
    "search query.mp4 --sea footage.sea": ("of 10 align; the first", "off by label seconds file"),
    "transfer marks.csv --sea footage.sea --to all.csv": ("carried to", "to check, the most doubtful first:"),
}


def shown(name: str) -> str:
    """The text of a picture, in single spaces."""
    lines = re.findall(r"<text[^>]*>([^<]*)</text>", (DOCS / "_static" / f"{name}.svg").read_text("utf-8"))
    return " ".join(html.unescape(" ".join(lines)).split())


@pytest.mark.parametrize("command", FIXED)
def test_a_terminal_shows_what_its_command_prints(command: str, place: Path) -> None:
    picture = shown("info" if command.startswith("sea info") else command.split()[0])
    done = CliRunner().invoke(app, command.split())
    printed = " ".join(done.stdout.split())
    for phrase in FIXED[command]:
        assert phrase in printed, printed
        assert phrase in picture, picture


def test_the_verdict_in_a_picture_is_in_the_words_of_the_code() -> None:
    assert "likely the same movement; DRAQ" in shown("align")
    assert "likely the same movement" in texts()
