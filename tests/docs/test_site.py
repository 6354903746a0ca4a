"""The docs: every command they show exists, every public name is in the reference, the prose is plain."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import typer

import seasync

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
PARTS = {"render", "sample"}  # modules, which have sections of their own


def commands() -> list[tuple[str, str]]:
    """(page, command line) of everything that begins with `seasync` in a block of code."""
    found = []
    for page in PAGES:
        if page.name == "cli.md":
            continue
        for block in re.findall(
            r"^```(?:console|sh|text)?\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S
        ):
            joined = block.replace("\\\n", " ")
            for line in joined.splitlines():
                line = line.removeprefix("$ ").strip()
                if re.match(r"seasync [a-z]", line):
                    found.append((page.name, re.split(r"\s[>|#&]|\s…", line)[0]))
    return found


@pytest.mark.parametrize(("page", "line"), commands(), ids=lambda text: text[:60])
def test_a_command_of_the_docs_is_understood(page, line):
    from seasync.cli import app

    command, arguments = typer.main.get_command(app), shlex.split(line)[1:]
    name = "seasync"
    while hasattr(command, "commands"):
        assert arguments, f"{page}: {line!r} names no command"
        assert arguments[0] in command.commands, f"{page}: {line!r} names an unknown command"
        name = arguments.pop(0)
        command = command.commands[name]
    command.make_context(name, arguments)  # raises on unknown options, missing or wrong values


def test_the_docs_show_commands():
    assert len(commands()) > 40


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    text += "SeasyncError" if "automodule:: seasync.errors" in text else ""
    missing = [name for name in seasync.__all__ if name not in PARTS and not re.search(rf"\b{name}\b", text)]
    assert missing == []


def test_every_public_name_has_a_docstring():
    bare = [name for name in seasync.__all__ if not (getattr(seasync, name).__doc__ or "").strip()]
    assert bare == []


def test_the_prose_is_plain():
    spec = importlib.util.spec_from_file_location("check_prose", DOCS / "check_prose.py")
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    assert checker.main() == 0
