"""Planted truth: real videos against copies with another look and a known warp."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import partial as partial_of
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset, Item
from seasync.evaluate.metrics import Array, recall_at
from seasync.evaluate.planting import Planted, film_name, plant
from seasync.evaluate.results import Row, Table, add_figure, add_mean, run_settings
from seasync.evaluate.study import RECIPES, Progress, Study, align_pairs, encode_items
from seasync.options import Partial

ALIGNMENTS: tuple[tuple[Recipe, Partial], ...] = (
    *((recipe, "never") for recipe in RECIPES),
    (MOTION, "auto"),
)
NOTES = (
    "Each clip has a planted partner: cut at both ends, speed ramps of 0.6–1.7×, a pause; cropped, perhaps "
    "mirrored, other colours, harder compression, another frame rate. The truth is known for every frame.",
    "Error: distance between where the alignment puts a frame of the planted film and where it came from. "
    "R@k: whether the film finds its own source among all clips.",
    "With partial alignment, errors are those of the frames it covers.",
    "The straight line between the ends is what no alignment at all would give.",
)


def planted(
    dataset: Dataset,
    folder: Path,
    *,
    encoder: str = "dinov2-small",
    seed: int = 0,
    jobs: int = 2,
    progress: Progress | None = None,
) -> Table:
    """Alignment error in milliseconds, and retrieval of the true source.

    Parameters
    ----------
    dataset : Dataset
        Its videos are used; labels are not needed.
    folder : pathlib.Path
        Where the planted films are written; films that are there are used again.
    encoder : str
    seed, jobs, progress
        As in `Study.of`.

    Raises
    ------
    DataError
        If the data set has no videos.
    """
    items = [item for item in dataset.items if item.clip is not None]
    if not items:
        raise DataError(f"{dataset.name}: no videos; planting needs real ones")
    films = plant_all(items, folder, seed=seed, progress=progress)
    copies = [Item(i.name, i.label, clip=Clip(f.file)) for i, f in zip(items, films, strict=True)]
    queries, sources = (encode_items(side, encoder, progress=progress) for side in (copies, items))
    study = Study(dataset.name, encoder, queries, sources, leave_one_out=False, jobs=jobs)
    straight = [straight_errors(film, s.encoding) for film, s in zip(films, sources, strict=True)]
    rows = [_row("none", "straight line", False, "never", straight, seed)]
    for recipe, partial in ALIGNMENTS:
        errors = study.map(partial_of(_errors, study, films, recipe, partial))
        row = _row(encoder, recipe.name, recipe.context, partial, errors, seed)
        found = np.array(study.retrieved(recipe, 10)) == np.arange(len(films))[:, None]
        for k in (1, 10):
            add_mean(row, f"R@{k}", recall_at(found, k), scale=100, seed=seed)
        rows.append(row)
    return Table(
        "planted",
        f"Planted truth on {dataset.name}",
        rows,
        run_settings(**study.counts(), seed=seed, films=str(folder)),
        main="error ms mean",
        lower=True,
        notes=NOTES,
    )


def plant_all(
    items: Sequence[Item], folder: Path, *, seed: int = 0, progress: Progress | None = None
) -> list[Planted]:
    """Write one planted film per clip; its warp and look follow from `seed` and the clip's name."""
    folder.mkdir(parents=True, exist_ok=True)
    films = []
    for at, item in enumerate(items):
        if progress:
            progress("planting", at, len(items))
        assert item.clip is not None
        source, own = item.clip.file, zlib.crc32(f"{seed} {item.name}".encode())
        films.append(plant(source, folder / film_name(source, own), seed=own))
    return films


def straight_errors(film: Planted, source: Encoding) -> Array:
    """Error of the straight line from end to end in milliseconds, shape (frames of the film,)."""
    line = film.seconds / film.seconds[-1] * source.seconds[-1]
    return np.asarray(1000 * np.abs(line - film.truth))


def _errors(study: Study, films: Sequence[Planted], recipe: Recipe, partial: Partial, at: int) -> Array:
    """Error of the warp in milliseconds, shape (frames of the film,); NaN for frames left out."""
    pair = study.queries[at].encoding, [study.gallery[at].encoding]
    warp = align_pairs(*pair, recipe, partial)[0].warp(keep="query")
    error = 1000 * np.abs(warp.at(films[at].seconds) - films[at].truth)
    return np.where(warp.covers(films[at].seconds) | (partial == "never"), error, np.nan)


def _row(
    features: str, recipe: str, context: bool, partial: Partial, errors: Sequence[Array], seed: int
) -> Row:
    """Median and 95th percentile over all frames, mean over clips of their mean; intervals over clips."""
    row: Row = {"features": features, "recipe": recipe, "context": context, "partial": partial}

    def percentile(which: float, drawn: NDArray[np.int64]) -> float:
        return float(np.nanpercentile(np.concatenate([errors[at] for at in drawn]), which))

    add_figure(row, "error ms median", partial_of(percentile, 50), len(errors), seed=seed)
    add_figure(row, "error ms p95", partial_of(percentile, 95), len(errors), seed=seed)
    add_mean(row, "error ms mean", [np.nanmean(each) for each in errors], seed=seed)
    add_mean(row, "covered %", [np.isfinite(each).mean() for each in errors], scale=100, seed=seed)
    return row
