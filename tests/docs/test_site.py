"""The docs: every command they show exists, every public name is in the reference, the prose is plain."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import typer

import seasync
from tests.docs.pages import DOCS, PAGES, commands, mentioned, name_of

PARTS = {"render", "sample"}  # modules, which have sections of their own


def problem(command: Any, line: str) -> str:
    """What is wrong with the names of commands and options in a command line, or nothing."""
    arguments = shlex.split(line.replace("…", ""))[1:]
    while hasattr(command, "commands") and arguments and not arguments[0].isupper():
        if arguments[0] not in command.commands:
            return f"{line!r} names an unknown command"
        command = command.commands[arguments.pop(0)]
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    unknown = [word for word in arguments if word.startswith("--") and word not in known]
    return f"{line!r} has unknown options: {unknown}" if unknown and known else ""


def test_a_command_that_is_mentioned_exists():
    """In running text a name in capitals stands for what you put there, and … for the rest of a command."""
    from seasync.cli import app

    program = typer.main.get_command(app)
    found = [f"{name_of(page)}: {problem(program, line)}" for page in PAGES for line in mentioned(page)]
    assert len(found) > 30
    assert [each for each in found if not each.endswith(": ")] == []


def test_the_docs_show_commands():
    assert sum(len(commands(page)) for page in PAGES) > 100


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


def test_every_environment_variable_is_in_the_reference():
    code = Path(seasync.__file__).parent.rglob("*.py")
    text = "".join(file.read_text(encoding="utf-8") for file in code)
    used = set(re.findall(r"SEASYNC_[A-Z_]+", text))
    text = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    assert sorted(name for name in used if f"`{name}`" not in text) == []


def test_links_of_pages_outside_the_site_lead_somewhere():
    """Sphinx checks those of the site."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        page = DOCS.parent / name
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{name}: {target}"


def test_pictures_are_small_and_used():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = [file for file in (DOCS / "_static").iterdir() if file.suffix != ".css"]
    assert [file.name for file in pictures if file.name not in text] == []
    assert max(file.stat().st_size for file in pictures) < 200_000
    assert sum(file.stat().st_size for file in pictures) < 1_500_000
