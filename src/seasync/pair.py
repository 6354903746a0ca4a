"""Two videos in, their alignment out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial as partial_of
from typing import TYPE_CHECKING

from seasync.clip import Clip
from seasync.files import Place

if TYPE_CHECKING:
    from seasync.align import Alignment, Recipe
    from seasync.encoders import Encoder
    from seasync.options import Order, Partial


def align(
    query: Clip | Place,
    match: Clip | Place,
    *,
    encoder: Encoder | str = "dinov2-small",
    recipe: Recipe | None = None,
    fps: float | None = None,
    anchors: Sequence[tuple[float, float]] = (),
    band: float | None = None,
    partial: Partial = "auto",
    order: Order = "same",
    cache: bool = True,
    progress: Callable[[str, float, float], None] | None = None,
) -> Alignment:
    """Align two videos, or clips of them.

    query, match  files (paths or URIs), or clips of files
    encoder       name or instance; it makes the frame features
    recipe        what is done with them: `seasync.MOTION` (default) or `seasync.PAPER`
    fps           sampling rate; default: the encoder's own
    anchors       pairs (query seconds, match seconds) that the path must pass through
    cache         keep encodings in the cache folder, and use those that are there
    band          keep the path within this share of the length from the straight line
    partial       "auto": leave out what has no counterpart where that is clearly better; "never"; "always"
    order         "any" also looks for stretches that come in another order
    progress      called with what is being read, the seconds that are done, and their total

    >>> alignment = seasync.align("query.mp4", "other.mp4")     # doctest: +SKIP
    >>> alignment.warp(keep="query").at(1.5)                    # doctest: +SKIP
    """
    from seasync.align import MOTION, align_encodings
    from seasync.encoders import encode_clip, get_encoder
    from seasync.video import probe

    clips = Clip.of(query), Clip.of(match)
    for clip in clips:
        probe(clip.file)  # a wrong name is told before weights are fetched, and the other clip encoded
    model = get_encoder(encoder) if isinstance(encoder, str) else encoder
    first, second = (
        encode_clip(clip, model, fps=fps, cache=cache, progress=reading(clip, progress)) for clip in clips
    )
    alignment = align_encodings(
        first, second, recipe=recipe or MOTION, anchors=anchors, band=band, partial=partial, order=order
    )
    return alignment.of(*clips, ends=(end_of(clips[0]), end_of(clips[1])))


def reading(
    clip: Clip, progress: Callable[[str, float, float], None] | None
) -> Callable[[float, float], None] | None:
    """`progress` for the encoding of one clip, which it names."""
    return None if progress is None else partial_of(progress, f"reading {clip.name}")


def end_of(clip: Clip) -> float:
    """When the last frame of a clip ends, in seconds of its file."""
    from seasync.video.timetable import frame_table

    last = frame_table(clip.file).end
    return last if clip.end is None else min(clip.end, last)
