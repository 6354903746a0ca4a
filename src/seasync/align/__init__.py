"""Alignment: recipes, cost matrices from one Gram matrix, DTW, DRAQ, warps. Arrays in, arrays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.align.alignment import Alignment
    from seasync.align.batched import draq_many, dtw_many
    from seasync.align.cost_pair import cost_matrix
    from seasync.align.fit import Piece
    from seasync.align.matrix import draq, dtw, random_cost
    from seasync.align.recipe import MOTION, PAPER, RECIPES, Recipe
    from seasync.align.scores import Scores
    from seasync.align.scoring import score_many
    from seasync.align.solve import align_encodings, align_many
    from seasync.align.warp import Segment, Warp

# Where each name lives; it is imported on first use, since the kernels bring numba with them.
_HOMES = {
    "MOTION": "recipe",
    "PAPER": "recipe",
    "RECIPES": "recipe",
    "Alignment": "alignment",
    "Piece": "fit",
    "Recipe": "recipe",
    "Scores": "scores",
    "Segment": "warp",
    "Warp": "warp",
    "align_encodings": "solve",
    "align_many": "solve",
    "cost_matrix": "cost_pair",
    "draq": "matrix",
    "draq_many": "batched",
    "dtw": "matrix",
    "dtw_many": "batched",
    "random_cost": "matrix",
    "score_many": "scoring",
}

__all__ = [
    "MOTION",
    "PAPER",
    "RECIPES",
    "Alignment",
    "Piece",
    "Recipe",
    "Scores",
    "Segment",
    "Warp",
    "align_encodings",
    "align_many",
    "cost_matrix",
    "draq",
    "draq_many",
    "dtw",
    "dtw_many",
    "random_cost",
    "score_many",
]
__getattr__ = loader(__name__, _HOMES)
