"""What the pages of the docs show: commands and Python, block by block."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
_SHELL = ("console", "sh", "text", "")


def name_of(page: Path) -> str:
    return page.relative_to(DOCS.parent).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of every block of code of a page."""
    return re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def commands(page: Path) -> list[str]:
    """Every command line of a page that begins with `seasync`, without comment and redirection."""
    found = []
    for kind, block in blocks(page):
        if kind not in _SHELL or (page.name == "cli.md" and kind != "sh"):
            continue  # another language, or usage, with placeholders
        for line in block.replace("\\\n", " ").splitlines():
            parts = (part.strip() for part in line.removeprefix("$ ").split(" && "))
            shown = (part for part in parts if re.match(r"seasync (-|[a-z])", part))
            found += [re.split(r"\s[>|#&]|\s…", part)[0].strip() for part in shown]
    return found


def mentioned(page: Path) -> list[str]:
    """Commands in running text: `seasync sea info`, with placeholders in capitals, or cut short by an …"""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [" ".join(each.split()) for each in re.findall(r"`(seasync\s+[a-z][^`]*)`", text)]


def snippets(page: Path) -> list[str]:
    """Every block of Python of a page."""
    return [block for kind, block in blocks(page) if kind == "python"]
