"""Encoders that take clips: others side by side (`A+B`), and features made elsewhere (`features:DIR`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encode import encode_part
from seasync.encoders.encoder import Encoder, Progress, encoding_of, halved
from seasync.encoding import Encoding, Floats, Indices, Seconds, Stream
from seasync.errors import EncoderError, FeatureError
from seasync.files import Location

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
        from seasync.video.timetable import frame_table

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
