"""Searching a sea."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Response

from seasync.align import MOTION, PAPER
from seasync.sea.match import Match
from seasync.serve import models
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep, SeaDep

router = APIRouter(tags=["search"])


@router.post("/seas/{sea}/search", response_model=models.SearchResult)
def search(sea: SeaDep, backend: BackendDep, request: models.SearchRequest) -> Response:
    """Find the clips that move in step with a clip, an upload, or a span of either; best first."""
    recipe = PAPER if request.recipe == "paper" else MOTION
    matches = sea.search(
        backend.library.query_clip(sea, request.query),
        k=request.k,
        recipe=recipe,
        rerank=request.rerank,
        candidates=request.candidates,
        max_draq=request.max_draq,
        partial=request.partial,
        consensus=request.consensus,
        label=request.label,
    )
    names = sea.clip_names()
    result = models.SearchResult(
        query=request.query,
        encoder=matches.encoder,
        recipe=request.recipe,
        threshold=recipe.threshold,
        candidates=matches.candidates,
        best_draq=matches.best_draq,
        verdict=matches.verdict,
        matches=[_match(backend, rank, match, names) for rank, match in enumerate(matches, 1)],
    )
    return Response(result.model_dump_json(), media_type="application/json")  # already validated


def _match(backend: Backend, rank: int, match: Match, names: Mapping[str, str]) -> models.Match:
    clip = backend.library.clip_model(match.part or match.clip, match.duration, names=names)
    return models.Match(**match.to_json(rank) | {"clip": clip})
