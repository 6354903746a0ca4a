"""The messages that the page on troubleshooting quotes are those of the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import seasync
from tests.docs.pages import DOCS


def texts() -> str:
    """All text in strings of the code; a line's end stands for what is filled in."""
    found = []
    for file in Path(seasync.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(
                        getattr(part, "value", "\n") if isinstance(part, ast.Constant) else "\n"
                        for part in node.values
                    )
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_quoted_messages_are_those_of_the_code():
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = [
        message for line in re.findall(r"^\*\*`.*$", page, re.M) for message in re.findall(r"`([^`]+)`", line)
    ]
    assert len(quoted) > 20
    known = texts()
    missing = []
    for message in quoted:
        parts = re.split(r"…|the match |\d[\d.–]*|\([A-Z].*?\)|warning: |: pose", message)
        longest = max((part.strip(" :%'") for part in parts), key=len)
        if longest not in known:
            missing.append((message, longest))
    assert missing == []
