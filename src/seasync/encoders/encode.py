"""From a clip to its encoding: read, encode while the next frames are read, remember.

At the end, encoders that take clips: others side by side, and features made elsewhere.
"""

import hashlib
import io
import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encoder import Encoder, Progress, TakesClips, TakesFrames, encoding_of, halved
from seasync.encoders.registry import DEFAULT, get_encoder
from seasync.encoding import FOUND, Encoding, Floats, Indices, Seconds, Stream
from seasync.errors import EncoderError, FeatureError, SubjectNotFound, VideoError
from seasync.files import DiskCache, Location, Place, atomic_write, cache_folder, fetch, local, location

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
        location.expect_ordinary(part)
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
            streams = tuple(_stored_stream(stored, n) for n in range(int(stored["streams"])))
            found = Encoding(str(stored["encoder"]), streams, stored["mean"], stored["trajectory"])
        local.touch(file)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, FeatureError):
        return None
    return found


def _stored_stream(stored: Mapping[str, Any], n: int) -> Stream:
    values = {each.name: stored[f"{n}.{each.name}"] for each in fields(Stream)}
    plain = {"name": str(values["name"]), "found": float(values["found"])}
    return Stream(**values | plain | {"features": values["features"].astype(np.float32)})


def store(key: str, encoding: Encoding) -> None:
    """Keep an encoding (features in half precision). A cache that cannot be written is no error."""
    arrays: dict[str, object] = vars(encoding) | {"streams": len(encoding.streams)}
    for n, stream in enumerate(encoding.streams):
        held = vars(stream) | {"features": stream.features.astype(np.float16)}
        arrays |= {f"{n}.{name}": value for name, value in held.items()}
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


def read_for(encoder: TakesFrames, clip: Clip, fps: float) -> Iterator["Frames"]:
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


def _watched(frames: Iterator["Frames"], clip: Clip, progress: Progress) -> Iterator["Frames"]:
    """The same frames; `progress` learns how far they are."""
    from seasync.video.source import frame_table

    last = frame_table(clip.file).end
    total = (last if clip.end is None else min(clip.end, last)) - clip.start
    for batch in frames:
        yield batch
        progress(float(batch.seconds[-1]) - clip.start, total)


# Encoders that take clips.


ABOUT = "features.json"


class SumEncoder:
    """`A+B`: the streams of several encoders, each at its own rate. The first one gives the clip vector.

    Each part reads the clip by itself and is cached by itself: decoding costs little beside encoding, and
    what one part has already seen is not encoded again.
    """

    def __init__(self, parts: Sequence[Encoder]) -> None:
        self.parts = tuple(parts)
        names = [part.name for part in parts]
        if len(set(names)) < len(names):
            raise EncoderError(f"{'+'.join(names)}: the same encoder twice; name each once")
        self.name = "+".join(names)
        self.fingerprint = "+".join(part.fingerprint for part in parts)
        self.dimension, self.fps = parts[0].dimension, parts[0].fps
        self.pair_fps = getattr(parts[0], "pair_fps", self.fps)

    def encode_clip(
        self, clip: Clip, *, fps: float | None, cache: bool, progress: Progress | None = None
    ) -> Encoding:
        lead, *others = (
            encode_part(clip, part, fps=None if n else fps, cache=cache, progress=progress)
            for n, part in enumerate(self.parts)
        )
        streams = [_cut_like(lead.streams[0], stream) for other in others for stream in other.streams]
        return Encoding(self.fingerprint, (*lead.streams, *streams), lead.mean, lead.trajectory)

    def __repr__(self) -> str:
        return f"SumEncoder({self.name!r})"


def parts_of(encoder: Encoder) -> tuple[Encoder, ...]:
    """The encoders side by side, the leading one first; or the one that it is."""
    return encoder.parts if isinstance(encoder, SumEncoder) else (encoder,)


def _cut_like(lead: Stream, stream: Stream) -> Stream:
    """`stream` with the leading stream's shots, so that a part which sees no cuts knows of them."""
    starts = np.searchsorted(stream.seconds, lead.seconds[lead.shots])
    return replace(stream, shots=np.unique(np.append(0, starts[starts < len(stream.seconds)])))


class ReadyFeatures:
    """`features:DIR`: frame features made elsewhere, one array (T, d) for each video.

    Reads DIR/NAME.npy, or DIR/FOLDER/NAME.npy for the video FOLDER/NAME.

    DIR/features.json may say `{"name": …, "fps": …}`: what made the features (seas made of differently named
    ones do not mix; by default DIR's name), and how many there are a second. Without fps there is one for
    every frame of the video, or, if there are more or fewer, they are spread evenly over it.
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"features:{folder}"
        self._folder = folder
        about = _about(folder / ABOUT)
        self._fps = about.get("fps")
        self.fps = float(self._fps or 7.5)
        self.fingerprint = f"features/{about.get('name', folder.resolve().name)}"
        first = next(folder.rglob("*.npy"), None)
        if first is None:
            raise EncoderError(f"{self.name}: no .npy files; expected one (T, d) array for each video")
        self.dimension = _load(first).shape[1]

    def encode_clip(
        self, clip: Clip, *, fps: float | None, cache: bool, progress: Progress | None = None
    ) -> Encoding:
        video = Location(clip.file)
        files = [self._folder / f"{video.stem}.npy", self._folder / video.parent.name / f"{video.stem}.npy"]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            raise FeatureError(f"{clip.file}: no features; expected {files[0]}")
        features = _load(file)
        if features.shape[1] != self.dimension:
            raise FeatureError(
                f"{file}: {features.shape[1]} numbers per frame, the others have {self.dimension}"
            )
        seconds, frames = self._times(clip.file, len(features))
        inside = (seconds >= clip.start) & (seconds < (np.inf if clip.end is None else clip.end))
        if fps:
            inside &= _sampled(seconds, fps, clip.start)
        return encoding_of(self, Stream(self.name, seconds[inside], frames[inside], halved(features[inside])))

    def _times(self, file: str, count: int) -> tuple[Seconds, Indices]:
        """When each feature's frame is shown, and its number."""
        from seasync.video.source import frame_table

        table = frame_table(file)
        if self._fps is None and count == len(table):
            return table.seconds, np.arange(count)
        wanted = np.arange(count) / (self._fps or count / table.end)
        return wanted, np.searchsorted(table.seconds, wanted + 1e-6, side="right") - 1

    def __repr__(self) -> str:
        return f"ReadyFeatures({str(self._folder)!r}, {self.dimension})"


def features_encoder(folder: str) -> ReadyFeatures:
    path = Path(folder)
    if not path.is_dir():
        raise EncoderError(f"features:{folder}: no such folder; expected one of .npy files")
    return ReadyFeatures(path)


def _about(file: Path) -> dict[str, Any]:
    try:
        about = json.loads(file.read_text()) if file.is_file() else {}
    except ValueError as error:
        raise EncoderError(f"{file}: not JSON ({error})") from error
    return about if isinstance(about, dict) else {}


def _load(file: Path) -> Floats:
    try:
        features = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise FeatureError(f"{file}: not a .npy array ({error})") from error
    if features.ndim != 2 or not len(features) or not np.issubdtype(features.dtype, np.floating):
        raise FeatureError(f"{file}: expected frame features (T, d), got {features.dtype} {features.shape}")
    return np.asarray(features, np.float32)


def _sampled(seconds: Seconds, fps: float, start: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of these moments are first in their sampling step."""
    step = np.floor((seconds - start) * fps + 1e-6)
    return np.append(True, np.diff(step) > 0)
