"""One JSON form for each thing: the command line, Python and the HTTP API have the same keys."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest

from seasync import forms
from seasync.clip import Clip


def keys(form: Any) -> set[str]:
    return {field.name for field in fields(form)}


@pytest.mark.parametrize(
    ("model", "form", "added"),
    [
        ("ServedMatch", forms.MatchForm, set()),
        ("SearchResult", forms.SearchForm, set()),
        ("ServedClip", forms.ClipForm, {"ref", "name", "tags", "viewable"}),
        ("ServedAlignment", forms.AlignmentForm, {"request", "warps", "axes", "has_cost", "detail"}),
    ],
)
def test_the_api_has_the_same_keys_and_adds_only_what_a_server_knows(
    model: str, form: Any, added: set[str]
) -> None:
    models = pytest.importorskip("seasync.serve.models")
    assert keys(getattr(models, model)) == keys(form) | added


def test_a_match_and_an_alignment_say_the_same_of_how_well_they_align() -> None:
    assert keys(forms.ScoresForm) <= keys(forms.MatchForm) & keys(forms.AlignmentForm)


def test_a_clip_knows_its_end_where_it_is_told() -> None:
    clip = Clip("a.mp4", 1.0, label="dive", id="0" * 32)
    assert asdict(clip.form()) == {
        "id": "0" * 32,
        "file": "a.mp4",
        "start": 1.0,
        "end": None,
        "label": "dive",
    }
    assert clip.form(end=3.0).end == 3.0
    assert Clip("a.mp4", 1.0, 2.0).form(end=3.0).end == 2.0


def test_every_key_is_documented(docs: Path) -> None:
    page = (docs / "json.md").read_text(encoding="utf-8")
    for form in (forms.ClipForm, forms.PieceForm, forms.AlignmentForm, forms.MatchForm, forms.SearchForm):
        for key in keys(form):
            assert f"| `{key}` | " in page


@pytest.fixture
def docs() -> Path:
    return Path(__file__).parents[1] / "docs"
