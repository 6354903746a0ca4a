"""The tests and files that the security pages name as evidence exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
PLACES = (ROOT, ROOT / "tests", ROOT / "tests/serve", ROOT / "src/seasync", ROOT / "src/seasync/serve")


@pytest.mark.parametrize("page", ["security.md", "security-asvs.md"])
def test_the_evidence_is_there(page: str) -> None:
    named = re.findall(r"`([^`\n]+)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))
    tests = [name for name in named if re.fullmatch(r"test_\w+…?", name)]
    files = [name for name in named if re.fullmatch(r"[\w./]+\.(py|js|md|yml)|tests/[\w/]+", name)]
    assert tests
    assert files
    for name in tests:
        assert re.search(
            rf"^def {name.removesuffix('…')}{'' if name.endswith('…') else '[(]'}", TESTS, re.M
        ), name
    for name in files:
        assert any((place / name).exists() for place in PLACES), name
