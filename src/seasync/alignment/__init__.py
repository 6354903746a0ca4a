"""Alignment: recipes, cost matrices from one Gram matrix, DTW, DRAQ, warps. Arrays in, arrays out."""

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.alignment.costs import cost_matrix, draq_many, dtw_many
    from seasync.alignment.judge import Scores
    from seasync.alignment.matrix import draq, dtw, random_cost
    from seasync.alignment.recipe import MOTION, PAPER, RECIPES, Recipe
    from seasync.alignment.result import Alignment, Piece
    from seasync.alignment.solve import align_encodings, align_many, score_many
    from seasync.alignment.warp import Segment, Warp


# Where each name lives; it is imported on first use.
_HOMES = {
    "costs": ("cost_matrix", "draq_many", "dtw_many"),
    "judge": ("Scores",),
    "matrix": ("draq", "dtw", "random_cost"),
    "recipe": ("MOTION", "PAPER", "RECIPES", "Recipe"),
    "result": ("Alignment", "Piece"),
    "solve": ("align_encodings", "align_many", "score_many"),
    "warp": ("Segment", "Warp"),
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
