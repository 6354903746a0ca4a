"""Planted truth: real videos against copies with another look and a known warp."""

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial as partial_of
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoders import content_hash
from seasync.encoding import Encoding
from seasync.errors import DataError, VideoError
from seasync.evaluate.dataset import Dataset, Item
from seasync.evaluate.metrics import recall_at
from seasync.evaluate.results import Row, Table, add_figure, add_mean
from seasync.evaluate.study import RECIPES, Progress, Study, encode_items
from seasync.options import Partial

# Planted truth: make a second video from a real one, with another look and a known warp of its time.


Array = NDArray[np.float64]
VERSION = 1  # changes when films are made differently
RATES = (Fraction(20), Fraction(24), Fraction(25), Fraction(30000, 1001), Fraction(30))


@dataclass(frozen=True)
class PlantedLook:
    """How the planted picture differs: crop, mirror, colors and coding."""

    crop: tuple[float, float, float]  # size and position, as shares of the picture
    mirrored: bool
    gain: tuple[float, float, float]
    gamma: float
    crf: int
    fps: Fraction


@dataclass(frozen=True, eq=False)
class Planted:
    """A film made from `source`: its frame k, shown at seconds[k], is what the source shows at truth[k]."""

    source: str
    file: str
    seconds: Array
    truth: Array
    look: PlantedLook


def plant(source: str | Path, file: Path, *, seed: int = 0, look: PlantedLook | None = None) -> Planted:
    """Write a film that shows `source` at another pace and with another look, both drawn from `seed`.

    Both ends are cut, speed ramps between 0.6× and 1.7×, and there is one pause of up to 0.8 s. A film that
    already exists is kept, so its name must identify source and seed (see `film_name`).

    Raises
    ------
    VideoError
        If the source has fewer than 8 frames.
    """
    from seasync.video.source import frame_table

    random = np.random.default_rng(seed)
    table = frame_table(source)
    if len(table) < 8:
        raise VideoError(f"{source}: {len(table)} frames; planting a warp needs at least 8")
    look = look or draw_look(random)
    times, wanted = draw_warp(random, table.end)
    seconds = np.arange(int(times[-1] * look.fps)) / float(look.fps)
    shown = np.searchsorted(table.seconds, np.interp(seconds, times, wanted) + table.slack, side="right") - 1
    if not file.exists():
        _write_film(source, file, shown, look)
    return Planted(str(source), str(file), seconds, table.seconds[shown], look)


def film_name(source: str | Path, seed: int) -> str:
    """A file name that depends on the source's content, the seed, and how films are made."""
    made = hashlib.sha256(f"{VERSION} {content_hash(source)} {seed}".encode())
    return f"{Path(source).stem}-{made.hexdigest()[:12]}.mp4"


def draw_warp(random: np.random.Generator, length: float) -> tuple[Array, Array]:
    """Draw knots of a monotone map from the film's seconds to the source's, shape (K,) each, from 0."""
    start, end = random.uniform(0, 0.12, 2) * length
    source = np.linspace(start, length - end, 7)
    speed = np.exp(random.uniform(np.log(0.6), np.log(1.7), 6))
    times = np.append(0, np.cumsum(np.diff(source) / speed))
    at = int(random.integers(1, 6))
    pause = random.uniform(0.2, 0.8)
    return np.append(times[: at + 1], times[at:] + pause), np.append(source[: at + 1], source[at:])


def draw_look(random: np.random.Generator) -> PlantedLook:
    """Draw crop, mirror, colors, compression and frame rate."""
    size, x, y = random.uniform(0.8, 0.97), *random.uniform(0, 1, 2)
    red, green, blue = random.uniform(0.75, 1.25, 3)
    return PlantedLook(
        (float(size), float(x), float(y)),
        bool(random.integers(2)),
        (float(red), float(green), float(blue)),
        float(np.exp(random.uniform(-0.35, 0.35))),
        int(random.integers(26, 37)),
        RATES[random.integers(len(RATES))],
    )


def _write_film(source: str | Path, file: Path, shown: NDArray[np.int64], look: PlantedLook) -> None:
    from seasync.video import Writer, probe

    info = probe(source)
    place = _crop(look, info.height, info.width)
    curve = np.linspace(0, 1, 256) ** look.gamma
    colors = np.clip(255 * curve[:, None] * np.array(look.gain), 0, 255).round().astype(np.uint8)
    size = (place[1].stop - place[1].start, place[0].stop - place[0].start)
    with Writer(file, fps=look.fps, size=size, crf=look.crf) as film:
        for picture in _pictures(source, shown):
            part = picture[place][:, ::-1] if look.mirrored else picture[place]
            film.write(np.stack([colors[part[..., c], c] for c in range(3)], axis=2))


def _crop(look: PlantedLook, height: int, width: int) -> tuple[slice, slice]:
    share, x, y = look.crop
    tall, wide = max(2, 2 * int(share * height / 2)), max(2, 2 * int(share * width / 2))
    top, left = int(y * (height - tall)), int(x * (width - wide))
    return slice(top, top + tall), slice(left, left + wide)


def _pictures(source: str | Path, shown: NDArray[np.int64]) -> Iterator[NDArray[np.uint8]]:
    """The source's frames with these numbers (never decreasing), repeats included."""
    from seasync.video import read

    wanted = iter(shown.tolist())
    number = next(wanted, None)
    for batch in read(source):
        for picture, at in zip(batch.data, batch.numbers.tolist(), strict=True):
            while number is not None and number <= at:
                yield picture
                number = next(wanted, None)
        if number is None:
            return


ALIGNMENTS: tuple[tuple[Recipe, Partial], ...] = (
    *((recipe, "never") for recipe in RECIPES),
    (MOTION, "auto"),
)


def planted(
    dataset: Dataset,
    folder: Path,
    *,
    encoder: str = "dinov2-small",
    fps: float | None = None,
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
    fps, seed, jobs, progress
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
    queries, sources = (encode_items(side, encoder, fps=fps, progress=progress) for side in (copies, items))
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
    return study.table("planted", rows, {"seed": seed, "films": str(folder)})


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
    warp = study.align(at, np.array([at]), recipe, partial)[0].warp(keep="query")
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
