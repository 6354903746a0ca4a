"""Planted truth: real videos against copies of themselves with another look and a known warp."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.align import Recipe
from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset, Item
from seasync.evaluate.metrics import Array, recall_at
from seasync.evaluate.planting import Planted, plant
from seasync.evaluate.study import RECIPES, Progress, Study, align_pairs, encode_items
from seasync.evaluate.table import Row, Table, add_figure, add_mean, record

NOTES = (
    "Each clip has a planted partner: cut at both ends, speed ramps of 0.6–1.7×, a pause; cropped, perhaps "
    "mirrored, other colours, harder compression, another frame rate. The truth is known for every frame.",
    "Error: distance between where the alignment puts a frame of the planted film and where it came from. "
    "R@k: whether the film finds its own source among all clips.",
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
    """Alignment error in milliseconds and retrieval of the true partner; films are kept in `folder`."""
    items = [item for item in dataset.items if item.clip is not None]
    if not items:
        raise DataError(f"{dataset.name}: no videos; planting needs real ones")
    films = plant_all(items, folder, seed=seed, progress=progress)
    copies = [Item(i.name, i.label, clip=Clip(f.file)) for i, f in zip(items, films, strict=True)]
    queries, sources = (encode_items(side, encoder, progress=progress) for side in (copies, items))
    study = Study(dataset.name, encoder, queries, sources, itself=False, jobs=jobs)
    straight: Row = {"features": "none", "recipe": "straight line", "context": False}
    lines = [straight_errors(film, s.encoding) for film, s in zip(films, sources, strict=True)]
    _add_errors(straight, lines, seed)
    rows = [straight]
    for recipe in RECIPES:
        row: Row = {"features": encoder, "recipe": recipe.name, "context": recipe.context}
        _add_errors(row, study.map(partial(_errors, study, films, recipe)), seed)
        found = np.array(study.retrieved(recipe, 10)) == np.arange(len(films))[:, None]
        for k in (1, 10):
            add_mean(row, f"R@{k}", recall_at(found, k), scale=100, seed=seed)
        rows.append(row)
    return Table(
        "planted",
        f"Planted truth on {dataset.name}",
        rows,
        record(**study.counts(), seed=seed, films=str(folder)),
        main="error ms mean",
        lower=True,
        notes=NOTES,
    )


def plant_all(
    items: Sequence[Item], folder: Path, *, seed: int = 0, progress: Progress | None = None
) -> list[Planted]:
    """One planted film per clip; its warp and look follow from `seed` and its name."""
    folder.mkdir(parents=True, exist_ok=True)
    films = []
    for at, item in enumerate(items):
        if progress:
            progress("planting", at, len(items))
        assert item.clip is not None
        file = folder / f"{at:04d}-{Path(item.name).stem}.mp4"
        films.append(plant(item.clip.file, file, seed=zlib.crc32(f"{seed} {item.name}".encode())))
    return films


def straight_errors(film: Planted, source: Encoding) -> Array:
    """Milliseconds between the truth and the straight line from end to end, (frames of the film,)."""
    line = film.seconds / film.seconds[-1] * source.seconds[-1]
    return np.asarray(1000 * np.abs(line - film.truth))


def _errors(study: Study, films: Sequence[Planted], recipe: Recipe, at: int) -> Array:
    """Milliseconds between the truth and the warp, (frames of the film,)."""
    warp = align_pairs(study.queries[at].encoding, [study.gallery[at].encoding], recipe)[0].warp(keep="query")
    return np.asarray(1000 * np.abs(warp.at(films[at].seconds) - films[at].truth))


def _add_errors(row: Row, errors: Sequence[Array], seed: int) -> None:
    """Median and 95th percentile over all frames, mean over clips of their mean; intervals over clips."""

    def percentile(which: float, drawn: NDArray[np.int64]) -> float:
        return float(np.percentile(np.concatenate([errors[at] for at in drawn]), which))

    add_figure(row, "error ms median", partial(percentile, 50), len(errors), seed=seed)
    add_figure(row, "error ms p95", partial(percentile, 95), len(errors), seed=seed)
    add_mean(row, "error ms mean", [each.mean() for each in errors], seed=seed)
