"""How well clips align under an encoder, measured without labels, on clips that it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seasync.align import Recipe, align_encodings, align_many
from seasync.align.consensus import disagreement
from seasync.encoders.vector import clip_vector_parts
from seasync.encoding import Encoding, Seconds, Stream
from seasync.train.teacher import nearest_others

Errors = NDArray[np.float64]
NEIGHBOURS = 3  # that a clip goes to and back
COMPANY = 10  # that must agree on where it goes
FEWEST = 3  # clips that planted errors tell anything of, and others that agreement does
FRAME_MS = 1000 / 30


def fell(before: Errors, after: Errors) -> bool:
    """Whether errors (N,) fell, clip by clip, by more than the standard error of their mean."""
    rise, error = _rise(before, after)
    return rise < -error


def _rise(before: Errors, after: Errors) -> tuple[float, float]:
    """How much the mean has risen, clip by clip, and the standard error of that."""
    rises = after - before
    return float(rises.mean()), float(rises.std() / len(rises) ** 0.5)


def judged(
    agreement: tuple[Errors, Errors] | None, planted: tuple[Errors, Errors] | None
) -> tuple[bool, str]:
    """Whether an encoder is better, by errors before and after, and why: one fell, the other did not suffer.

    Clips that disagree less about which moments are the same tell of better features, but a clock would win;
    planted errors no clock can win, but they are of clips with themselves, where frozen features are hard to
    beat. So agreement decides if the planted errors rise by less than a frame, and planted errors decide
    unless clips disagree more.
    """
    better, why = False, "no error falls by more than its standard error"
    if agreement is not None and fell(*agreement):
        better = planted is None or bool(planted[1].mean() < planted[0].mean() + FRAME_MS)
        why = "clips disagree less" + ("" if better else ", but planted truth loses a frame or more")
    elif planted is not None and fell(*planted):
        better = agreement is None or not fell(*agreement[::-1])
        why = "planted truth is met more closely" + ("" if better else ", but clips disagree more")
    named = (("clips disagree", agreement), ("planted truth", planted))
    rises = ["{} {:+.1f} ± {:.1f} ms".format(name, *_rise(*pair)) for name, pair in named if pair is not None]
    return better, f"{why} ({', '.join(rises) or 'nothing could be measured'})"


def agreement_errors(
    before: Sequence[Encoding], after: Sequence[Encoding], recipe: Recipe
) -> tuple[Errors, Errors] | None:
    """How much clips disagree, in milliseconds, by the one and the other encoder; None of too few clips."""
    nearest = nearest_others(before, COMPANY, recipe)
    if len(nearest[0]) < FEWEST:
        return None

    def errors(clips: Sequence[Encoding]) -> Errors:
        pairs = zip(clips, nearest, strict=True)
        return np.array([disagreement(q, [clips[n] for n in others], recipe=recipe) for q, others in pairs])

    return errors(before), errors(after)


def cycle_errors(encodings: Sequence[Encoding], recipe: Recipe) -> Errors:
    """Of each clip, there and back through its nearest others: squared frames at 30 a second (FPE)."""
    errors = []
    for query, others in zip(encodings, nearest_others(encodings, NEIGHBOURS, recipe), strict=True):
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
    """Mean distance of each clip's alignment with its retimed self from the truth, in milliseconds.

    truths  when the sampled frames of the retimed clip happen in the first
    """
    errors = []
    for first, second, truth in zip(encodings, retimed, truths, strict=True):
        warp = align_encodings(second, first, recipe=recipe, partial="never").warp()
        errors.append(1000 * np.abs(warp.at(second.seconds) - truth).mean())
    return np.array(errors)


def retime(encoding: Encoding, rng: np.random.Generator) -> tuple[Encoding, Seconds]:
    """The clip at a smoothly changing pace between half and double, and when its frames happened before.

    Only for clips without a cut: what lies between two sampled frames is drawn in a straight line.
    """
    times = encoding.seconds
    first, last = times[0], times[-1]
    waves = rng.normal(size=3) / np.arange(1, 4)
    share = (times - first) / max(last - first, 1e-9)
    pace = np.exp(np.clip(np.sin(np.pi * np.outer(share, np.arange(1, 4))) @ waves, -0.7, 0.7))
    truth = np.append(0, np.cumsum(np.diff(times) * (pace[1:] + pace[:-1])))
    truth = first + truth * (last - first) / max(truth[-1], 1e-9)
    streams = tuple(_moved(stream, np.interp(stream.seconds, times, truth)) for stream in encoding.streams)
    mean, trajectory = clip_vector_parts(streams[0].features, times)
    return replace(encoding, streams=streams, mean=mean, trajectory=trajectory), truth


def _moved(stream: Stream, moments: Seconds) -> Stream:
    """The stream showing, at each of its times, what it showed at these moments."""
    columns = [np.interp(moments, stream.seconds, column) for column in stream.features.T]
    return replace(stream, features=np.stack(columns, axis=1).astype(np.float32))
