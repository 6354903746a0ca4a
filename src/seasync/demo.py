"""The whole job on a sea made for the purpose, scored against what is known of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seasync.align import MOTION, Alignment, Recipe
from seasync.errors import DataError
from seasync.render import alignment_picture, compare
from seasync.sample import Sample, SampleClip, alignment_error, make
from seasync.sea.match import Matches
from seasync.search import Rerank, Sea


@dataclass(frozen=True)
class Score:
    """How well the sample's clips find each other, each of them the query once.

    first        share of queries whose best match performs the same action
    of_ten       share of the ten best that do, as far as there are that many
    fooled       share of the queries with a look-alike in the sea that take it for the best match
    median_error of the alignments with the best match, where the action is the same, in sampled frames
    """

    first: float
    of_ten: float
    fooled: float
    median_error: float


def prepare(folder: Path, *, clips: int, note: Callable[[str], None]) -> Sample:
    """The sample in `folder`, made if it is not there yet."""
    try:
        sample = Sample.load(folder)
        if len(sample.clips) == clips:
            return sample
    except DataError:
        pass
    return make(folder, clips=clips, progress=lambda clip: note(clip.file.name))


def score(sea: Sea, sample: Sample, *, recipe: Recipe = MOTION, rerank: Rerank | None = None) -> Score:
    """Search for every clip of the sample, and compare with the truth."""
    snapshot = sea.snapshot()
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
            errors.append(median_error(matches[0].alignment, query, others[0], snapshot.about.fps))
    return Score(
        float(np.mean(first)),
        float(np.mean(of_ten)),
        float(np.mean(fooled)) if fooled else 0.0,
        float(np.median(errors)),
    )


def median_error(alignment: Alignment, query: SampleClip, match: SampleClip, fps: float) -> float:
    """Median distance of an alignment from the truth, in sampled frames."""
    error = alignment_error(query, match, alignment.warp(keep="query").at, fps=fps)
    return float(np.nanmedian(error))


def show(matches: Matches, folder: Path) -> list[Path]:
    """The best match as a picture, a film, a timeline and JSON, written into `folder`."""
    alignment = matches[0].alignment
    picture, film, values = (folder / name for name in ("alignment.png", "sync.mp4", "alignment.json"))
    alignment_picture(alignment, picture)
    compare(alignment, film, audio="mix")
    values.write_text(json.dumps(alignment.to_json()), encoding="utf-8")
    return [film, picture, values]
