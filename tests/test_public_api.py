"""What programs call keeps working: the public signatures against those of the last release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("griffe", reason="needs the extra 'test'")

from tests import public_api

ADVICE = (
    "deprecate it first, or, before 1.0, run `python tests/public_api.py --write` "
    "and say in CHANGELOG.md how to migrate (RELEASE.md)"
)


def test_nothing_public_changed_incompatibly() -> None:
    assert not public_api.changes(), ADVICE


def test_a_lost_parameter_and_a_lost_name_are_noticed(tmp_path: Path) -> None:
    public_api.write(tmp_path)
    file = tmp_path / "seasync" / "__init__.pyi"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        re.sub(r"(def find\(.*)\) ->", r"\1, gone=1) ->", text) + "class Gone: ...\n", encoding="utf-8"
    )
    assert [line.split(": ", 1)[1] for line in public_api.changes(tmp_path)] == [
        "find(gone): Parameter was removed",
        "Gone: Public object was removed",
    ]
