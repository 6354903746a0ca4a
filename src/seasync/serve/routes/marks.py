"""Anchors and marks that people set by hand, kept in the sea."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from seasync.options import MarkKind
from seasync.serve import mark_tables, models
from seasync.serve.routes import RefPath, SeaDep

router = APIRouter(prefix="/seas/{sea}", tags=["marks"])
CSV: dict[int | str, dict[str, object]] = {200: {"content": {"text/csv": {}}}}


@router.get("/anchors/{query}/{match}")
def get_anchors(sea: SeaDep, query: RefPath, match: RefPath) -> models.Anchors:
    """The anchors between two videos."""
    found = sea.annotations.get(f"anchors/{query}/{match}") or []
    return models.Anchors(query=query, match=match, anchors=found)


@router.put("/anchors/{query}/{match}")
def set_anchors(sea: SeaDep, query: RefPath, match: RefPath, anchors: list[models.Anchor]) -> models.Anchors:
    """Replace all anchors between two videos. An empty list removes them."""
    kept = models.Anchors(query=query, match=match, anchors=sorted(anchors, key=lambda one: one.query))
    sea.annotations.put(f"anchors/{query}/{match}", [one.model_dump() for one in kept.anchors] or None)
    return kept


@router.get("/marks")
def list_marks(sea: SeaDep) -> list[models.Marks]:
    """The marks of every marked video."""
    return mark_tables.all_marks(sea)


@router.get("/marks.csv", response_class=Response, responses=CSV)
def get_marks_table(
    sea: SeaDep, form: Annotated[Literal["events", "phases"], Query()] = "events"
) -> Response:
    """All marks as `seasync evaluate` reads them: events.csv (clips with all key moments) or phases.csv."""
    text = mark_tables.events_csv(sea) if form == "events" else mark_tables.phases_csv(sea)
    name = {"Content-Disposition": f'attachment; filename="{form}.csv"'}
    return Response(text, media_type="text/csv", headers=name)


@router.get("/mark-names")
def get_mark_names(sea: SeaDep) -> dict[MarkKind, list[str]]:
    """The names in use, in the order in which they usually come."""
    return mark_tables.mark_names(sea)


@router.get("/marks/{ref}")
def get_marks(sea: SeaDep, ref: RefPath) -> models.Marks:
    """The marks of one video."""
    return models.Marks(ref=ref, marks=mark_tables.marks_of(sea, ref))


@router.put("/marks/{ref}")
def set_marks(sea: SeaDep, ref: RefPath, marks: list[models.Mark]) -> models.Marks:
    """Replace all marks of a video. An empty list removes them."""
    kept = models.Marks(ref=ref, marks=sorted(marks, key=lambda mark: mark.frame))
    sea.annotations.put(f"marks/{ref}", kept.model_dump() if marks else None)
    return kept
