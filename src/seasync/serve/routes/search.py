"""Searching a sea."""

from __future__ import annotations

from fastapi import APIRouter, Response

from seasync.align import MOTION, PAPER
from seasync.serve import models
from seasync.serve.routes import Insides, Sea

router = APIRouter(tags=["search"])


@router.post("/seas/{sea}/search", response_model=models.SearchResult)
def search(sea: Sea, core: Insides, asked: models.SearchRequest) -> Response:
    """The clips that move in step with a clip, an upload, or a span of either; best first."""
    clip = core.library.to_find(sea, asked.query)
    recipe = PAPER if asked.recipe == "paper" else MOTION
    options = asked.model_dump(include={"k", "rerank", "candidates", "max_draq", "partial", "label"})
    matches = sea.find(clip, recipe=recipe, **options)
    result = models.SearchResult(
        query=asked.query,
        encoder=matches.encoder,
        recipe=asked.recipe,
        threshold=recipe.threshold,
        candidates=matches.candidates,
        best_draq=matches.best_draq,
        verdict=matches.verdict,
        matches=[
            models.Match(
                rank=rank,
                clip=core.library.clip_model(match.part or match.clip, match.duration),
                match_start=match.clip.start if match.part else None,
                match_end=match.end if match.part else None,
                similarity=match.similarity,
                draq=match.draq,
                dtw_cost=match.dtw_cost,
                coverage=dict(zip(("query", "match"), match.alignment.coverage, strict=True)),
                pieces=[
                    models.Piece(query=one.query, match=one.match, draq=one.draq)
                    for one in match.alignment.pieces
                ],
                alignable=match.alignable,
                verdict=match.alignment.verdict,
                alignability=match.alignability,
                better_than=match.better_than,
            )
            for rank, match in enumerate(matches, 1)
        ],
    )
    return Response(result.model_dump_json(), media_type="application/json")  # it is checked already
