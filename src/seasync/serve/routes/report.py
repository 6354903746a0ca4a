"""The compare report of two videos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response

from seasync.options import Side
from seasync.serve import models
from seasync.serve.backend import Backend
from seasync.serve.mark_tables import marks_of
from seasync.serve.pair_timing import compare_timing, report_csv
from seasync.serve.routes import BackendDep, SeaDep
from seasync.serve.served_sea import ServedSea

router = APIRouter(prefix="/seas/{sea}/alignment", tags=["report"])
RequestQuery = Annotated[models.ReportRequest, Query()]
CSV: dict[int | str, dict[str, object]] = {200: {"content": {"text/csv": {}}}}


@router.get("/report")
def get_report(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> models.Report:
    """How the timing of two videos differs: moments, phases and tempo, in words and numbers.

    Marks of either video are used; a mark that only one has is carried over to the other.
    """
    return _report(backend, sea, request)


@router.get("/report.csv", response_class=Response, responses=CSV)
def get_report_table(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> Response:
    """The compare report as a table."""
    text = report_csv(_report(backend, sea, request))
    name = {"Content-Disposition": 'attachment; filename="report.csv"'}
    return Response(text, media_type="text/csv", headers=name)


def _report(backend: Backend, sea: ServedSea, request: models.ReportRequest) -> models.Report:
    alignment = backend.solver.solve(sea, request)
    refs: dict[Side, str] = {"query": request.query, "match": request.match}
    clips = {"query": alignment.query, "match": alignment.match}
    names: dict[Side, str] = {side: Path(clip.file).name if (clip := clips[side]) else side for side in refs}
    if names["query"] == names["match"]:
        names = {"query": "The query", "match": "The match"}
    marks = {side: marks_of(sea, refs[side]) for side in refs}
    return compare_timing(alignment, marks, names, since=request.since)
