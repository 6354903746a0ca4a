"""Two videos in, their alignment out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seasync.align import MOTION, Alignment, Recipe, align_encodings
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, encode_clip


def align(
    query: Clip | str | Path,
    match: Clip | str | Path,
    *,
    encoder: Encoder | str = DEFAULT,
    recipe: Recipe = MOTION,
    fps: float | None = None,
    anchors: Sequence[tuple[float, float]] = (),
    band: float | None = None,
    partial: str | None = None,
    order: str = "same",
    cache: bool = True,
) -> Alignment:
    """Align two videos, or clips of them.

    query, match  files, or clips of files
    encoder       name or instance; it makes the frame features
    recipe        what is done with them: `MOTION` (default) or `PAPER`
    fps           sampling rate; default: the encoder's own
    anchors       pairs (query seconds, match seconds) that the path must pass through
    band, partial, order  as in `seasync.align.align_encodings`
    """
    clips = Clip.of(query), Clip.of(match)
    encodings = [encode_clip(clip, encoder, fps=fps, cache=cache) for clip in clips]
    alignment = align_encodings(
        *encodings, recipe=recipe, anchors=anchors, band=band, partial=partial, order=order
    )
    return replace(alignment, query=clips[0], match=clips[1])
