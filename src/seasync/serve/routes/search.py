"""Searching a sea."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response
from pydantic_core import to_json

from seasync.alignment import MOTION, PAPER
from seasync.forms import MatchForm
from seasync.serve import models
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep, SeaDep

router = APIRouter(tags=["search"])


@router.post("/seas/{sea}/search", response_model=models.SearchResult)
def search(sea: SeaDep, backend: BackendDep, request: models.SearchRequest) -> Response:
    """Find the clips that move in step with a clip, an upload, or a span of either; best first."""
    found = sea.search(
        backend.library.query_clip(sea, request.query),
        k=request.k,
        recipe=PAPER if request.recipe == "paper" else MOTION,
        rerank=request.rerank,
        candidates=request.candidates,
        max_draq=request.max_draq,
        partial=request.partial,
        label=request.label,
    )
    names = sea.clip_names()
    matches = [_match(backend, match, names) for match in found.matches]
    answer = vars(found) | {"query": request.query, "matches": matches}
    return Response(to_json(answer, inf_nan_mode="null"), media_type="application/json")


def _match(backend: Backend, match: MatchForm, names: Mapping[str, str]) -> dict[str, Any]:
    """A match with its clip as the API describes it."""
    return vars(match) | {"clip": backend.library.found_clip(match.clip, names)}
