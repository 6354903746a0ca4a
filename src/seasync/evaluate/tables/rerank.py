"""Re-ranking search results: the paper's Table 4."""

from __future__ import annotations

import numpy as np

from seasync.errors import DataError
from seasync.evaluate import paper
from seasync.evaluate.metrics import precision_at, recall_at
from seasync.evaluate.results import Row, Table, add_mean, run_settings
from seasync.evaluate.study import RECIPES, Study, compared_keys

NOTES = (
    "R@k: queries with the same action anywhere among the first k after re-ranking, in percent; "
    "P@10: share of the same action among the first ten.",
    "`against none` is the difference to the order as retrieved, query by query.",
    "Candidates are retrieved by the recipe's own clip vector: the paper's mean, or motion's mean and "
    "trajectory. They are ranked exactly as `seasync search` ranks them.",
)


def rerank(study: Study, *, k: int = 25, seed: int = 0) -> Table:
    """R@1, R@10 and P@10 of the first k retrieved clips, as retrieved and re-ranked.

    The ranking is that of `Sea.search`: `seasync.ranking` computes both.
    """
    labels, wanted = study.gallery_labels, study.query_labels
    if len({*labels, *wanted}) == 1:
        raise DataError(f"{study.name}: one action, so every order is right; R@k needs several actions")
    rows = []
    for recipe in RECIPES:
        candidates = study.retrieved(recipe, k)
        rankings = study.rankings(candidates, recipe)
        for way in compared_keys(recipe):
            ranked = np.array([c[r.order(way)] for c, r in zip(candidates, rankings, strict=True)])
            relevant = labels[ranked] == wanted[:, None]
            row: Row = {
                "features": study.encoder,
                "recipe": recipe.name,
                "context": recipe.context,
                "rerank": way,
            }
            add_mean(row, "R@1", recall_at(relevant, 1), scale=100, seed=seed)
            first = labels[np.array(candidates)[:, 0]] == wanted
            add_mean(
                row, "R@1 against none", recall_at(relevant, 1) - first.astype(float), scale=100, seed=seed
            )
            add_mean(row, "R@10", recall_at(relevant, 10), scale=100, seed=seed)
            add_mean(row, "P@10", precision_at(relevant, 10), scale=100, seed=seed)
            rows.append(row)
    return Table(
        "rerank",
        f"Re-ranking the first {k} (Table 4) on {study.name}",
        rows,
        run_settings(**study.counts(), candidates=k, seed=seed),
        paper.rows("rerank", study.paper),
        main="R@1",
        compare=("recipe", "context", "rerank"),
        notes=NOTES,
    )
