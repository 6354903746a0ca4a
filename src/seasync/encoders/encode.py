"""From a clip to its encoding: read, encode while the next frames are read, remember."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from seasync.clip import Clip
from seasync.encoders import cache as kept
from seasync.encoders.encoder import Encoder, Progress, TakesClips, TakesFrames
from seasync.encoders.registry import DEFAULT, get_encoder
from seasync.encoding import FOUND, Encoding
from seasync.errors import EncoderError, SubjectNotFound, VideoError
from seasync.files import Place, fetch

if TYPE_CHECKING:
    from seasync.video import Frames

BATCH = 8
AHEAD = 10  # batches: the next window is read while this one is encoded
FEW_CORES = 3  # up to as many, the encoder keeps all of them busy: then frames are decoded one by one


def encode_clip(
    source: Clip | Place,
    encoder: Encoder | str = DEFAULT,
    *,
    fps: float | None = None,
    cache: bool = True,
    content: str | None = None,
    progress: Progress | None = None,
) -> Encoding:
    """Encode a clip, or a whole file. A fresh encoding and one from the cache are the same to the bit.

    Parameters
    ----------
    source
        A file (path or URI), or a clip of one.
    encoder
        Encoder of the frames, by name or as an object.
    fps
        Frames to sample per second. Default: the encoder's rate.
    cache
        Keep the encoding in the cache folder, and use one of the same content, span, encoder and rate.
    content
        The file's `content_hash`, if it is known already.
    progress
        Called with the seconds of the clip that are encoded, and their total.

    Returns
    -------
    Encoding
        The frame features of each stream, and the clip vector.

    Warns
    -----
    SubjectNotFound
        If the encoder follows a person and found none in most frames.

    Examples
    --------
    >>> encoding = seasync.encode_clip("query.mp4")
    >>> features = encoding.streams[0].features  # (frames, dimensions)
    """
    encoding = encode_part(source, encoder, fps=fps, cache=cache, content=content, progress=progress)
    for stream in encoding.streams:
        if stream.found < FOUND:
            warnings.warn(
                f"{Clip.of(source).file}: {stream.name}: no person detected in {1 - stream.found:.0%} of the "
                "frames; beside another encoder, this stream is ignored for this clip",
                SubjectNotFound,
                stacklevel=2,
            )
    return encoding


def encode_part(
    source: Clip | Place,
    encoder: Encoder | str,
    *,
    fps: float | None,
    cache: bool,
    content: str | None = None,
    progress: Progress | None = None,
) -> Encoding:
    """As `encode_clip`, for an encoder that is a part of another; what was not found is for that to tell."""
    from seasync.video import ahead

    clip = Clip.of(source)
    if not fetch(clip.file).exists():
        raise VideoError(f"{clip.file}: no such file")
    if isinstance(encoder, str):
        encoder = get_encoder(encoder)
    if isinstance(encoder, TakesClips):
        if progress is None:  # encoders of others need not know about progress
            return encoder.encode_clip(clip, fps=fps, cache=cache)
        return encoder.encode_clip(clip, fps=fps, cache=cache, progress=progress)
    if not isinstance(encoder, TakesFrames):
        raise EncoderError(f"{encoder!r}: expected an encoder that takes frames or clips")
    rate = fps or encoder.fps
    key = ""
    if cache:
        content = content or kept.content_hash(clip.file)
        key = kept.encoding_key(content, clip.start, clip.end, encoder.fingerprint, rate)
        if (found := kept.load(key)) is not None:
            return found
    batches = ahead(read_for(encoder, clip, rate), depth=AHEAD)
    try:
        encoding = encoder.encode(batches if progress is None else _watched(batches, clip, progress))
    except VideoError as error:
        raise VideoError(str(error) if clip.file in str(error) else f"{clip.file}: {error}") from error
    if cache:
        kept.store(key, encoding)
    return encoding


def read_for(encoder: TakesFrames, clip: Clip, fps: float) -> Iterator[Frames]:
    """The frames of a clip as the encoder takes them, in batches."""
    from seasync.video import read

    return read(
        clip.file,
        fps=fps,
        start=clip.start,
        end=clip.end,
        size=encoder.input_size,
        fit=encoder.fit,
        batch=BATCH,
        frame_threads=(os.cpu_count() or 1) > FEW_CORES,
    )


def _watched(frames: Iterator[Frames], clip: Clip, progress: Progress) -> Iterator[Frames]:
    """The same frames; `progress` learns how far they are."""
    from seasync.video.timetable import frame_table

    last = frame_table(clip.file).end
    total = (last if clip.end is None else min(clip.end, last)) - clip.start
    for batch in frames:
        yield batch
        progress(float(batch.seconds[-1]) - clip.start, total)
