"""Measuring how well clips align with an encoder: without labels, on clips it was not trained on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import MOTION, Recipe, align_encodings, align_many
from seasync.alignment.consensus import apply_consensus, disagreement
from seasync.encoders.encoder import clip_vector_parts
from seasync.encoding import Encoding, Seconds, Stream
from seasync.ranking import similarity_matrix
from seasync.train.clips import Footage, Progress

# The teacher: alignments of training clips with each other, using all streams of the encoder.


CLIPS = 400  # at most, drawn at random: the teacher keeps their encodings in memory
TEACHER_NEIGHBORS = 10


def nearest_others(encodings: Sequence[Encoding], count: int, recipe: Recipe) -> list[list[int]]:
    """For each clip the numbers of the `count` others with the nearest clip vectors, nearest first."""
    similarity = similarity_matrix(encodings, encodings, trajectory=recipe.trajectory)
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(count, len(encodings) - 1)]
    return [row.tolist() for row in order]


class Teacher:
    """For clips without a cut: which other clips move in step with them, and when.

    Parameters
    ----------
    footage : Footage
    numbers : sequence of int
        The clips to align.
    seed : int
    progress : callable, optional
    """

    def __init__(
        self, footage: Footage, numbers: Sequence[int], *, seed: int = 0, progress: Progress | None = None
    ) -> None:
        numbers = sorted(np.random.default_rng(seed).permutation(numbers)[:CLIPS].tolist())
        encodings = footage.encodings(numbers)
        whole = [n for n, encoding in enumerate(encodings) if len(encoding.shots) == 1]
        self._partners: dict[int, list[tuple[int, Seconds]]] = {}
        alone = len(whole) < 2
        nearest = [] if alone else nearest_others([encodings[n] for n in whole], TEACHER_NEIGHBORS, MOTION)
        for at, n in enumerate(whole[: len(nearest)]):
            if progress:
                progress("teacher", at, len(whole))
            others = [whole[k] for k in nearest[at]]
            matches = [encodings[m] for m in others]
            alignments = apply_consensus(align_many(encodings[n], matches), matches)
            for m, alignment in zip(others, alignments, strict=True):
                if alignment.alignable:
                    warp, seconds = alignment.warp(keep="match"), encodings[m].seconds
                    times = np.where(warp.covers(seconds), warp.at(seconds), np.nan)
                    self._partners.setdefault(numbers[n], []).append((numbers[m], times))

    def __len__(self) -> int:
        """Number of aligned pairs."""
        return sum(map(len, self._partners.values()))

    def partner(self, number: int, rng: np.random.Generator) -> tuple[int, Seconds] | None:
        """Draw a clip that aligns with clip `number`, and when its frames happen there; None if none does."""
        known = self._partners.get(number)
        return known[int(rng.integers(len(known)))] if known else None


Errors = NDArray[np.float64]
NEIGHBORS = 3  # nearest clips that a clip is aligned with and back, for cycle errors
AGREEING = 10  # nearest clips whose alignments are compared with each other
FEWEST = 3  # clips needed for planted errors, and other clips needed for agreement
FRAME_MS = 1000 / 30


def decreased(before: Errors, after: Errors) -> bool:
    """Whether errors, shape (N,), fell by more than the standard error of their mean change."""
    rise, error = _mean_change(before, after)
    return rise < -error


def _mean_change(before: Errors, after: Errors) -> tuple[float, float]:
    """The mean change, clip by clip, and its standard error."""
    rises = after - before
    return float(rises.mean()), float(rises.std() / len(rises) ** 0.5)


def judge(agreement: tuple[Errors, Errors] | None, planted: tuple[Errors, Errors] | None) -> tuple[bool, str]:
    """Decide whether an encoder got better: one kind of error fell, the other did not suffer.

    Features that align better disagree less, but so do features that know nothing but the position in the
    clip. Planted errors expose those, but they compare clips with themselves, where frozen features are hard
    to beat. So agreement decides if planted errors rise by less than a frame, and planted errors decide
    unless clips disagree more.

    Parameters
    ----------
    agreement, planted : (numpy.ndarray [shape=(N,)], numpy.ndarray [shape=(N,)]), optional
        Errors before and after, in milliseconds; None if they could not be measured.

    Returns
    -------
    bool
        Whether it is better.
    str
        The reason, with the mean changes.
    """
    better, why = False, "no error falls by more than its standard error"
    if agreement is not None and decreased(*agreement):
        better = planted is None or bool(planted[1].mean() < planted[0].mean() + FRAME_MS)
        why = "clips disagree less" + ("" if better else ", but planted truth loses a frame or more")
    elif planted is not None and decreased(*planted):
        better = agreement is None or not decreased(*agreement[::-1])
        why = "planted truth is met more closely" + ("" if better else ", but clips disagree more")
    named = (("clips disagree", agreement), ("planted truth", planted))
    rises = [
        "{} {:+.1f} ± {:.1f} ms".format(name, *_mean_change(*pair))
        for name, pair in named
        if pair is not None
    ]
    return better, f"{why} ({', '.join(rises) or 'nothing could be measured'})"


def agreement_errors(
    before: Sequence[Encoding], after: Sequence[Encoding], recipe: Recipe
) -> tuple[Errors, Errors] | None:
    """How much clips disagree with each encoder, in milliseconds, shape (N,); None with too few clips."""
    nearest = nearest_others(before, AGREEING, recipe)
    if len(nearest[0]) < FEWEST:
        return None

    def errors(clips: Sequence[Encoding]) -> Errors:
        pairs = zip(clips, nearest, strict=True)
        return np.array([disagreement(q, [clips[n] for n in others], recipe=recipe) for q, others in pairs])

    return errors(before), errors(after)


def cycle_errors(encodings: Sequence[Encoding], recipe: Recipe) -> Errors:
    """Cycle error (FPE) of each clip with its nearest others, in squared frames at 30 per second."""
    errors = []
    for query, others in zip(encodings, nearest_others(encodings, NEIGHBORS, recipe), strict=True):
        matches = [encodings[n] for n in others]
        there = align_many(query, matches, recipe=recipe, partial="never")
        back = [align_encodings(match, query, recipe=recipe, partial="never") for match in matches]
        lost = [
            home.warp().at(away.warp().at(query.seconds)) - query.seconds
            for away, home in zip(there, back, strict=True)
        ]
        errors.append(np.mean(np.square(lost)) * 30**2)
    return np.array(errors)


def planted_errors(
    encodings: Sequence[Encoding], retimed: Sequence[Encoding], truths: Sequence[Seconds], recipe: Recipe
) -> Errors:
    """Mean error of each clip's alignment with its retimed copy, in milliseconds.

    Parameters
    ----------
    encodings, retimed : sequence of Encoding
        The clips and their copies.
    truths : sequence of numpy.ndarray [shape=(T,)]
        When each sampled frame of a copy happens in the original, in seconds.
    recipe : Recipe
    """
    errors = []
    for first, second, truth in zip(encodings, retimed, truths, strict=True):
        warp = align_encodings(second, first, recipe=recipe, partial="never").warp()
        errors.append(1000 * np.abs(warp.at(second.seconds) - truth).mean())
    return np.array(errors)


def retime(encoding: Encoding, rng: np.random.Generator) -> tuple[Encoding, Seconds]:
    """Retime a clip at a smoothly changing pace between half and double.

    It suits only clips without a cut, because features between two samples are interpolated.

    Returns
    -------
    Encoding
        The retimed clip.
    numpy.ndarray [shape=(T,)]
        When each of its frames happens in the original, in seconds.
    """
    times = encoding.seconds
    first, last = times[0], times[-1]
    waves = rng.normal(size=3) / np.arange(1, 4)
    share = (times - first) / max(last - first, 1e-9)
    pace = np.exp(np.clip(np.sin(np.pi * np.outer(share, np.arange(1, 4))) @ waves, -0.7, 0.7))
    truth = np.append(0, np.cumsum(np.diff(times) * (pace[1:] + pace[:-1])))
    truth = first + truth * (last - first) / max(truth[-1], 1e-9)
    streams = tuple(_resample(stream, np.interp(stream.seconds, times, truth)) for stream in encoding.streams)
    mean, trajectory = clip_vector_parts(streams[0].features, times)
    return replace(encoding, streams=streams, mean=mean, trajectory=trajectory), truth


def _resample(stream: Stream, moments: Seconds) -> Stream:
    """The stream with the features that it had at other moments, interpolated."""
    columns = [np.interp(moments, stream.seconds, column) for column in stream.features.T]
    return replace(stream, features=np.stack(columns, axis=1).astype(np.float32))
