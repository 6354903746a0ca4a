"""Anchors and marks: what people set by hand, kept in the sea."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from seasync.options import MarkKind
from seasync.serve import models
from seasync.serve.marks import events_csv, marks_of, marks_on, names_of, phases_csv
from seasync.serve.routes import Sea

router = APIRouter(prefix="/seas/{sea}", tags=["notes"])
Ref = Annotated[str, Path(pattern=f"^(clip|upload):{models.HEX}$")]
CSV: dict[int | str, dict[str, object]] = {200: {"content": {"text/csv": {}}}}


@router.get("/anchors/{query}/{match}")
def anchors(sea: Sea, query: Ref, match: Ref) -> models.Anchors:
    """Moments of two videos that were said to belong together."""
    found = sea.notes.get(f"anchors/{query}/{match}") or []
    return models.Anchors(query=query, match=match, anchors=found)


@router.put("/anchors/{query}/{match}")
def set_anchors(sea: Sea, query: Ref, match: Ref, anchors: list[models.Anchor]) -> models.Anchors:
    """Replace them all; an empty list takes them away."""
    kept = models.Anchors(query=query, match=match, anchors=sorted(anchors, key=lambda one: one.query))
    sea.notes.put(f"anchors/{query}/{match}", [one.model_dump() for one in kept.anchors] or None)
    return kept


@router.get("/marks")
def all_marks(sea: Sea) -> list[models.Marks]:
    """Of every marked video."""
    return marks_of(sea)


@router.get("/marks.csv", response_class=Response, responses=CSV)
def export(sea: Sea, form: Annotated[Literal["events", "phases"], Query()] = "events") -> Response:
    """For `seasync evaluate`: events.csv (a row for each clip with all key moments) or phases.csv."""
    text = events_csv(sea) if form == "events" else phases_csv(sea)
    name = {"Content-Disposition": f'attachment; filename="{form}.csv"'}
    return Response(text, media_type="text/csv", headers=name)


@router.get("/mark-names")
def mark_names(sea: Sea) -> dict[MarkKind, list[str]]:
    """Names in use, in the order they usually come in."""
    return names_of(sea)


@router.get("/marks/{ref}")
def marks(sea: Sea, ref: Ref) -> models.Marks:
    return models.Marks(ref=ref, marks=marks_on(sea, ref))


@router.put("/marks/{ref}")
def set_marks(sea: Sea, ref: Ref, marks: list[models.Mark]) -> models.Marks:
    """Replace them all; an empty list takes them away."""
    kept = models.Marks(ref=ref, marks=sorted(marks, key=lambda mark: mark.frame))
    sea.notes.put(f"marks/{ref}", kept.model_dump() if marks else None)
    return kept
