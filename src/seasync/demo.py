"""The whole job on a sea made for the purpose, scored against what is known of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from seasync.alignment import MOTION, Alignment, Recipe
from seasync.encoders import get_encoder
from seasync.errors import DataError
from seasync.options import Rerank
from seasync.render import alignment_picture, compare, grid
from seasync.sample import Sample, SampleClip, alignment_error, make
from seasync.sea import calibration, search
from seasync.sea.sea import Sea


@dataclass(frozen=True)
class Score:
    """How well the sample's clips find each other, each of them the query once.

    first         share of queries whose best match performs the same action
    of_ten        share of the ten best that do, as far as there are that many
    fooled        share of the queries with a look-alike in the sea that take one for the best match
    median_error  of the alignments with the best match, where the action is the same, in sampled frames
    """

    first: float
    of_ten: float
    fooled: float
    median_error: float


@dataclass(frozen=True)
class Result:
    """What the demo found and made: one query and its match, the scores of all, the files to look at."""

    query: SampleClip
    match: SampleClip
    draq: float
    median_error: float
    by_vector: Score
    reranked: Score
    made: tuple[Path, ...]


def run(
    out: Path,
    *,
    clips: int = 60,
    step: Callable[[str], None] = lambda text: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Result:
    """Make the sample, add it to a sea, search, align, film, score.

    If you run it again, it continues where it stopped.

    `step` is called with what begins, `progress` with how many clips are done and how many there are.
    """
    step(f"making {clips} clips of four actions: different people, clothes, speeds and cameras")
    sample = _sample(out / "sample", clips, progress)
    step("the encoder, DINOv2 ViT-S (fetched once: 88 MB)")
    sea = Sea(out / "sample.sea", get_encoder())
    step("adding the clips to a sea: decoding, encoding, storing")
    sea.add(
        out / "sample",
        labels="folder",
        progress=lambda added: progress(added.added + added.present + len(added.failed), added.files),
    )
    if len(sea) >= calibration.FEWEST_CLIPS:
        step("learning from the labels how likely a match is the same movement")
        sea.calibrate()
    step("searching: which clip moves in step with this one?")
    query = next(clip for clip in sample.clips if clip.action == "throw")
    matches = sea.search(query.file)
    match = next(clip for clip in sample.clips if str(clip.file.resolve()) == matches[0].clip.file)
    step("filming the best matches in step with the query")
    made = _show(matches, out)
    step("scoring against the truth, each clip the query once")
    return Result(
        query,
        match,
        matches[0].draq,
        median_error(matches[0].alignment, query, match, sea.record.snapshot().facts.fps),
        score(sea, sample, rerank="none"),
        score(sea, sample),
        made,
    )


def _sample(folder: Path, clips: int, progress: Callable[[int, int], None]) -> Sample:
    """The sample in `folder`, made if it is not there yet."""
    try:
        sample = Sample.load(folder)
        if len(sample.clips) == clips:
            return sample
    except DataError:
        pass
    made = count(1)
    return make(folder, clips=clips, progress=lambda clip: progress(next(made), clips))


def score(sea: Sea, sample: Sample, *, recipe: Recipe = MOTION, rerank: Rerank | None = None) -> Score:
    """Search for every clip of the sample, and compare with the truth."""
    snapshot = sea.record.snapshot()
    known = {str(clip.file.resolve()): clip for clip in sample.clips}
    looks = {(clip.look, clip.action) for clip in sample.clips}
    ids = {clip.file: clip.id or "" for clip in snapshot.clips()}
    found = sea.search_many([ids[file] for file in known], k=10, recipe=recipe, rerank=rerank)
    first, of_ten, fooled, errors = [], [], [], []
    for query, matches in zip(known.values(), found, strict=True):
        others = [known[match.clip.file] for match in matches]
        same = [other.action == query.action for other in others]
        most = sum(clip.action == query.action for clip in sample.clips) - 1
        first.append(same[0])
        of_ten.append(sum(same) / min(10, most))
        if any(look == query.look and action != query.action for look, action in looks):
            fooled.append(others[0].look == query.look and not same[0])
        if same[0]:
            errors.append(median_error(matches[0].alignment, query, others[0], snapshot.facts.fps))
    one, ten, misled = (float(np.mean(each)) for each in (first, of_ten, fooled or [False]))
    return Score(one, ten, misled, float(np.median(errors)))


def median_error(alignment: Alignment, query: SampleClip, match: SampleClip, fps: float) -> float:
    """Median distance of an alignment from the truth, in sampled frames."""
    error = alignment_error(query, match, alignment.warp(keep="query").at, fps=fps)
    return float(np.nanmedian(error))


def _show(matches: search.Matches, folder: Path) -> tuple[Path, ...]:
    """The best match as film, picture and JSON, and the eight best together."""
    alignment = matches[0].alignment
    film, picture, all_films, values = (
        folder / name for name in ("sync.mp4", "alignment.png", "matches.mp4", "alignment.json")
    )
    compare(alignment, film, audio="mix")
    alignment_picture(alignment, picture)
    grid([match.alignment for match in matches[:8]], all_films)
    values.write_text(json.dumps(alignment.to_json()), encoding="utf-8")
    return film, picture, all_films, values
