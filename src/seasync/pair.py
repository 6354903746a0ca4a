"""Two videos in, their alignment out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial as partial_of
from typing import TYPE_CHECKING

from seasync import alignment as method, encoders, video
from seasync.clip import Clip
from seasync.files import Place

if TYPE_CHECKING:
    from seasync.alignment import Alignment, Recipe
    from seasync.encoders import Encoder
    from seasync.options import Order, Partial

# Clips up to this length are sampled at the rate for pairs. Longer ones show slower movements, which do not
# gain from it: events of the robot arm (22–34 s) were placed worse at 15 per second than at 7.5.
PAIR_SECONDS = 15.0


def align(
    query: Clip | Place,
    match: Clip | Place,
    *,
    encoder: Encoder | str = "dinov2-small",
    recipe: Recipe | None = None,
    fps: float | None = None,
    anchors: Sequence[tuple[float, float]] = (),
    band: float | None = None,
    partial: Partial | None = None,
    order: Order | None = None,
    cache: bool = True,
    progress: Callable[[str, float, float], None] | None = None,
) -> Alignment:
    """Align two videos, or clips of them.

    Parameters
    ----------
    query, match
        Files (paths or URIs), or clips of files.
    encoder
        Encoder of the frames, by name or as an object.
    recipe
        How the features are compared and aligned: `seasync.MOTION` (default) or `seasync.PAPER`.
    fps
        Frames to sample per second. Default: 15 of clips up to 15 seconds with the default encoder,
        otherwise the encoder's rate.
    anchors
        Pairs (query seconds, match seconds) that the path must pass through.
    band
        Keep the path within this share of the length from the straight line.
    partial
        Whether footage without a counterpart is left out: ``"auto"`` (if that is clearly better),
        ``"never"`` or ``"always"``. Default: the recipe's.
    order
        ``"any"`` also finds parts that come in another order in the match. Default: the recipe's.
    cache
        Keep encodings in the cache folder, and use those that are there.
    progress
        Called with what is being done, the seconds that are done, and their total.

    Returns
    -------
    Alignment
        Which moment of the query goes with which moment of the match, and how well.

    Raises
    ------
    VideoError
        If a video cannot be read.
    EncoderError
        If the encoder does not exist or cannot be used.
    FeatureError
        If no path satisfies the anchors and the band.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> summary = alignment.summary  # such as "aligns in full (DRAQ 0.456, below 0.57)"
    >>> second = alignment.warp(keep="query").at(1.5)  # of the other video
    """
    from seasync.alignment.prepare import refined

    clips = Clip.of(query), Clip.of(match)
    # This reports a file that is no video before weights are fetched and the other clip is encoded.
    ends = end_of(clips[0]), end_of(clips[1])
    model = encoders.get_encoder(encoder) if isinstance(encoder, str) else encoder
    rates = [fps or pair_fps(model, end - clip.start) for clip, end in zip(clips, ends, strict=True)]
    first, second = (
        encoders.encode_clip(clip, model, fps=rate, cache=cache, progress=reading(clip, progress))
        for clip, rate in zip(clips, rates, strict=True)
    )
    if progress is not None:
        progress("aligning", 0, 0)
    asked = refined(recipe or method.MOTION, first).asked(partial=partial, order=order)
    alignment = method.align_encodings(first, second, recipe=asked, anchors=anchors, band=band)
    return alignment.of(*clips, ends=ends)


def pair_fps(encoder: Encoder, seconds: float) -> float:
    """Frames to sample per second of a clip of this length that is aligned with one other, outside a sea.

    Some encoders have a higher rate for this, `pair_fps`: it places moments more exactly, and two short clips
    can afford it. A sea cannot: it would double the time that `add` takes, and its size.
    """
    return float(getattr(encoder, "pair_fps", encoder.fps)) if seconds <= PAIR_SECONDS else encoder.fps


def reading(
    clip: Clip, progress: Callable[[str, float, float], None] | None
) -> Callable[[float, float], None] | None:
    """`progress` for the encoding of one clip, which it names."""
    return None if progress is None else partial_of(progress, f"reading {clip.name}")


def end_of(clip: Clip) -> float:
    """When the last frame of a clip ends, in seconds of its file."""
    last = video.frame_table(clip.file).end
    return last if clip.end is None else min(clip.end, last)
