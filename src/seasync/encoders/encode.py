"""From a clip to its encoding: read, encode while the next frames are read, remember."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encoder import Encoder, Progress, TakesClips, TakesFrames
from seasync.encoders.registry import DEFAULT, get_encoder
from seasync.encoders.weights import cache_folder
from seasync.encoding import FOUND, Encoding, Stream
from seasync.errors import EncoderError, FeatureError, SubjectNotFound, VideoError
from seasync.files import DiskCache, Place, atomic_write, fetch
from seasync.files.cache import touch
from seasync.files.location import expect_ordinary

if TYPE_CHECKING:
    from seasync.video import Frames


# Encodings of files already seen, kept in the cache folder up to a bounded size.


LIMIT_BYTES = 2 << 30
_FORM = "1"  # raised when the same fingerprint would give another encoding


def content_hash(file: Place) -> str:
    """sha256 (32 hex digits) of a file's bytes; of an image folder, of its files' names and bytes."""
    digest = hashlib.sha256()
    path = fetch(file)
    for part in sorted(path.iterdir()) if path.is_dir() else [path]:
        if path.is_dir():
            digest.update(os.fsencode(part.name))
        expect_ordinary(part)
        with part.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:32]


def encoding_key(content: str, start: float, end: float | None, fingerprint: str, fps: float) -> str:
    """What the cache knows an encoding by."""
    text = "\n".join((_FORM, content, repr(float(start)), repr(end), fingerprint, repr(float(fps))))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def load(key: str) -> Encoding | None:
    """The encoding of this key, or None if it is not here (or cannot be read)."""
    file = _file(key)
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
            count = int(stored["streams"])
            streams = tuple(
                Stream(
                    str(stored[f"{n}.name"]),
                    stored[f"{n}.seconds"],
                    stored[f"{n}.frames"],
                    stored[f"{n}.features"].astype(np.float32),
                    stored[f"{n}.shots"],
                    float(stored[f"{n}.found"]),
                )
                for n in range(count)
            )
            found = Encoding(str(stored["encoder"]), streams, stored["mean"], stored["trajectory"])
        touch(file)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, FeatureError):
        return None
    return found


def store(key: str, encoding: Encoding) -> None:
    """Keep an encoding (features in half precision). A cache that cannot be written is no error."""
    arrays: dict[str, object] = {
        "encoder": encoding.encoder,
        "mean": encoding.mean,
        "trajectory": encoding.trajectory,
        "streams": len(encoding.streams),
    }
    for n, stream in enumerate(encoding.streams):
        arrays |= {
            f"{n}.name": stream.name,
            f"{n}.seconds": stream.seconds,
            f"{n}.frames": stream.frames,
            f"{n}.features": stream.features.astype(np.float16),
            f"{n}.shots": stream.shots,
            f"{n}.found": stream.found,
        }
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)  # type: ignore[arg-type]
    file = _file(key)
    with suppress(FeatureError):
        with atomic_write(file, make_folder=True, error=FeatureError) as part:
            part.write_bytes(packed.getvalue())
        DiskCache(file.parent.parent, LIMIT_BYTES).trim()


def _file(key: str) -> Path:
    return cache_folder() / "encodings" / key[:2] / f"{key}.npz"


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
        content = content or content_hash(clip.file)
        key = encoding_key(content, clip.start, clip.end, encoder.fingerprint, rate)
        if (found := load(key)) is not None:
            return found
    logging.getLogger("seasync.encoders").info("encoding %s", clip.name)
    batches = ahead(read_for(encoder, clip, rate), depth=AHEAD)
    try:
        encoding = encoder.encode(batches if progress is None else _watched(batches, clip, progress))
    except VideoError as error:
        raise VideoError(str(error) if clip.file in str(error) else f"{clip.file}: {error}") from error
    if cache:
        store(key, encoding)
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
