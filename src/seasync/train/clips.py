"""Clips to train on: those of a sea, read as they are needed, or videos."""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoders import Encoder, TakesFrames, encode, encode_clip, encoder_for
from seasync.encoding import Encoding, Floats, Seconds
from seasync.errors import EncoderError, FeatureError
from seasync.files import Location, Place
from seasync.sea.sea import Sea
from seasync.video import Frames

# Altered views of a clip (cropped, mirrored, recolored), to break shortcuts through appearance.


class View:
    """An encoder that alters pictures first: one alteration per clip, drawn from its first picture.

    Parameters
    ----------
    encoder : Encoder
        One that takes frames.
    number : int
        Each number gives another alteration of the same clip.
    """

    def __init__(self, encoder: object, number: int) -> None:
        if not isinstance(encoder, TakesFrames):
            raise EncoderError(f"{encoder!r}: views need an encoder that takes frames")
        self.name, self.fingerprint = f"{encoder.name}/view{number}", f"{encoder.fingerprint}/view{number}"
        self.dimension, self.fps = encoder.dimension, encoder.fps
        self.input_size, self.fit = encoder.input_size, encoder.fit
        self._encoder, self._number = encoder, number

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        """Encode the altered frames."""
        encoding = self._encoder.encode(self._altered(batches))
        return Encoding(self.fingerprint, encoding.streams, encoding.mean, encoding.trajectory)

    def _altered(self, batches: Iterable[Frames]) -> Iterator[Frames]:
        alteration: Alteration | None = None
        for batch in batches:
            if alteration is None:
                seed = zlib.crc32(batch.data[0].tobytes(), self._number)
                alteration = Alteration(np.random.default_rng(seed), batch.data.shape[1:3])
            yield Frames(alteration(batch.data), batch.seconds, batch.numbers)


class Alteration:
    """A random crop (half to all of the area), mirror, brightness, contrast, color mix or gray."""

    def __init__(self, rng: np.random.Generator, size: tuple[int, ...]) -> None:
        share = np.sqrt(rng.uniform(0.5, 1.0)) * np.exp(rng.uniform(-0.1, 0.1, 2))
        height, width = np.minimum(np.round(np.array(size) * share), size).astype(int)
        top, left = rng.integers(0, size[0] - height + 1), rng.integers(0, size[1] - width + 1)
        self._rows = top + (np.arange(size[0]) * height / size[0]).astype(int)
        self._columns = left + (np.arange(size[1]) * width / size[1]).astype(int)
        if rng.random() < 0.5:
            self._columns = self._columns[::-1]
        mix = np.diag(rng.uniform(0.8, 1.2, 3))
        if rng.random() < 0.2:
            mix = np.full((3, 3), 1 / 3)
        self._colors = (mix * rng.uniform(0.6, 1.4)).astype(np.float32)
        self._grey = rng.uniform(-40, 40)

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
        cropped = pictures[:, self._rows][:, :, self._columns].astype(np.float32)
        return np.asarray(np.clip(cropped @ self._colors + self._grey, 0, 255), np.uint8)


SHORTEST = 8  # frames a clip needs to be trained on
Progress = Callable[[str, int, int], None]


class SeaFootage:
    """The clips of a sea that keep frame features; they are read when they are needed.

    Attributes
    ----------
    fingerprint : str
        Fingerprint of the whole encoder.
    lead : (str, str)
        Name and fingerprint of the encoder of the leading stream, on which the model is trained.
    dimension : int
    fps : float
    clips : list of Clip
    """

    def __init__(self, sea: Sea) -> None:
        self._snapshot = snapshot = sea.record.snapshot()
        facts = snapshot.facts
        self.fingerprint, self.fps = facts.fingerprint, facts.fps
        self.lead = facts.encoder, facts.fingerprint
        if len(facts.streams) > 1:
            first = encode.parts_of(encoder_for(facts.encoder, facts.fingerprint))[0]
            self.lead = first.name, first.fingerprint
        self.dimension = facts.dimension
        table = snapshot.table(
            ["id", "file", "start", "end", "label", "duration"],
            f"frames >= {SHORTEST} AND features_0 IS NOT NULL",
        )
        self._rows = table["_rowid"].to_numpy()
        self.clips = snapshot.clips_of(table)
        _require_enough(len(self.clips), sea.uri)

    def encodings(self, chosen: Sequence[int]) -> list[Encoding]:
        """The encodings of these clips."""
        return [encoding for encoding in self._snapshot.encodings(self._rows[list(chosen)]) if encoding]


class VideoFootage:
    """Videos, encoded first (or found in the cache) and kept in memory. Attributes as those of SeaFootage."""

    def __init__(
        self,
        videos: Sequence[Clip | Place],
        encoder: Encoder,
        *,
        fps: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.fingerprint, self.dimension = encoder.fingerprint, encoder.dimension
        first = encode.parts_of(encoder)[0]
        self.lead = first.name, first.fingerprint
        self.fps = fps or encoder.fps
        self._encodings: list[Encoding] = []
        self.clips: list[Clip] = []
        for at, video in enumerate(videos):
            if progress:
                progress("encoding", at, len(videos))
            encoding = encode_clip(video, encoder, fps=fps)
            if len(encoding.seconds) >= SHORTEST:
                self._encodings.append(encoding)
                self.clips.append(Clip.of(video))
        _require_enough(len(self.clips), f"{len(videos)} videos")

    def encodings(self, chosen: Sequence[int]) -> list[Encoding]:
        """The encodings of these clips."""
        return [self._encodings[n] for n in chosen]


Footage = SeaFootage | VideoFootage


def _require_enough(count: int, where: str) -> None:
    if count < 5:
        raise FeatureError(
            f"{where}: {count} clips of at least {SHORTEST} sampled frames with frame features; "
            "training needs five or more"
        )


def split(clips: Sequence[Clip], share: float, seed: int) -> tuple[list[int], list[int]]:
    """Split clips into those to train on and those held out, by number; clips of a file stay together."""

    def drawn(file: str) -> str:
        return hashlib.sha256(f"{seed} {Location(file).name}".encode()).hexdigest()

    files = sorted({clip.file for clip in clips}, key=drawn)
    held = set(files[: max(1, round(share * len(files)))])
    inside = [clip.file in held for clip in clips]
    return [n for n, out in enumerate(inside) if not out], [n for n, out in enumerate(inside) if out]


@dataclass(frozen=True, eq=False)
class TrainingClip:
    """A clip as training sees it: its longest shot under V looks, (V, T, d), and its seconds, (T,)."""

    looks: Floats
    seconds: Seconds


def longest_shot(encoding: Encoding) -> TrainingClip:
    """The longest stretch without a cut, under its plain look."""
    stream = encoding.streams[0]
    ends = np.append(stream.shots[1:], len(stream.seconds))
    longest = int(np.argmax(ends - stream.shots))
    inside = slice(stream.shots[longest], ends[longest])
    return TrainingClip(stream.features[None, inside], stream.seconds[inside])


class ClipViews:
    """Clips under their plain look and `views` altered ones, which are kept in memory."""

    def __init__(
        self,
        footage: Footage,
        *,
        encoder: Encoder | None = None,
        views: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._footage = footage
        self._views: list[list[TrainingClip]] = [[] for _ in footage.clips]
        for at, clip in enumerate(footage.clips if views else ()):
            if progress:
                progress("views", at, len(footage.clips))
            for n in range(views):
                self._views[at].append(longest_shot(encode_clip(clip, View(encoder, n), fps=footage.fps)))

    def of(self, chosen: Sequence[int]) -> list[TrainingClip]:
        """These clips, each with its plain look first."""
        out = []
        for number, encoding in zip(chosen, self._footage.encodings(chosen), strict=True):
            plain = longest_shot(encoding)
            # A view may show a cut where the plain picture has none; then it does not match and is left out.
            views = [view.looks for view in self._views[number] if len(view.seconds) == len(plain.seconds)]
            out.append(TrainingClip(np.concatenate([plain.looks, *views]), plain.seconds))
        return out


# Pairs of clips and padded batches for one training step.


@dataclass(frozen=True, eq=False)
class Pair:
    """Two clips that show the same movement (often the same clip twice), each under several looks.

    Attributes
    ----------
    one : numpy.ndarray [shape=(V, T, d)]
    other : numpy.ndarray [shape=(W, U, d)]
    seconds : numpy.ndarray [shape=(T,)]
        Times of the frames of `one`.
    other_seconds : numpy.ndarray [shape=(U,)]
        Times of the frames of `other`.
    partner : numpy.ndarray [shape=(U,)]
        When the frames of `other` happen in `one`; NaN where that is unknown.
    """

    one: Floats
    other: Floats
    seconds: Seconds
    other_seconds: Seconds
    partner: Seconds


@dataclass(frozen=True)
class Batch:
    """Sequences of one training step, padded to the same length.

    Attributes
    ----------
    features : torch.Tensor [shape=(B, T, d)]
    places : torch.Tensor [shape=(B, T)]
        Positions in time.
    known : torch.Tensor [shape=(B, T)], bool
        False where a short sequence is padded.
    labels : dict of str to torch.Tensor [shape=(B, T)]
    """

    features: Any
    places: Any
    known: Any
    labels: dict[str, Any]

    def to(self, device: str) -> "Batch":
        """The batch on a device."""
        labels = {name: label.to(device) for name, label in self.labels.items()}
        return Batch(self.features.to(device), self.places.to(device), self.known.to(device), labels)


def pad_batch(
    sequences: Sequence[Floats], places: Sequence[NDArray[Any]], **labels: Sequence[NDArray[Any]]
) -> Batch:
    """Combine sequences (T_i, d), their places (T_i,) and labels (T_i,), padded with 0 and −1."""
    known = np.zeros((len(sequences), max(map(len, sequences))), bool)
    features = np.zeros((*known.shape, sequences[0].shape[1]), np.float32)
    for n, sequence in enumerate(sequences):
        known[n, : len(sequence)] = True
        features[n, : len(sequence)] = sequence

    def filled(rows: Sequence[NDArray[Any]], value: int) -> Any:
        table = np.full(known.shape, value, np.result_type(rows[0], np.int64))
        for n, row in enumerate(rows):
            table[n, : len(row)] = row
        return torch.from_numpy(table)

    tensors = {name: filled(rows, -1) for name, rows in labels.items()}
    return Batch(torch.from_numpy(features), filled(places, 0).double(), torch.from_numpy(known), tensors)


def with_noise(sequence: Floats, rng: np.random.Generator, noise: float) -> Floats:
    """Add noise to every frame, shape (T, d): `noise` times each channel's spread over the sequence."""
    spread = sequence.std(axis=0, keepdims=True)
    jitter: Floats = np.float32(noise) * spread * rng.standard_normal(sequence.shape, np.float32)
    return sequence + jitter
