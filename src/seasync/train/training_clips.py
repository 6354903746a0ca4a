"""Clips to train on: those of a sea, read as they are needed, or videos."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seasync.clip import Clip
from seasync.encoders import Encoder, encode_clip, encoder_for
from seasync.encoders.sum import parts_of
from seasync.encoding import Encoding, Floats, Seconds
from seasync.errors import FeatureError
from seasync.files import Location, Place
from seasync.search import Sea
from seasync.train.views import View

SHORTEST = 8  # frames a clip needs to be trained on
Progress = Callable[[str, int, int], None]


class Footage(Protocol):
    """Clips with frame features of one encoder.

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

    fingerprint: str
    lead: tuple[str, str]
    dimension: int
    fps: float
    clips: list[Clip]

    def encodings(self, chosen: Sequence[int]) -> list[Encoding]:
        """The encodings of these clips."""
        ...


class SeaFootage:
    """The clips of a sea that keep frame features; they are read when they are needed."""

    def __init__(self, sea: Sea) -> None:
        self._snapshot = snapshot = sea.record.snapshot()
        facts = snapshot.facts
        self.fingerprint, self.fps = facts.fingerprint, facts.fps
        self.lead = facts.encoder, facts.fingerprint
        if len(facts.streams) > 1:
            first = parts_of(encoder_for(facts.encoder, facts.fingerprint))[0]
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
    """Videos, encoded first (or found in the cache) and kept in memory."""

    def __init__(
        self,
        videos: Sequence[Clip | Place],
        encoder: Encoder,
        *,
        fps: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.fingerprint, self.dimension = encoder.fingerprint, encoder.dimension
        first = parts_of(encoder)[0]
        self.lead = first.name, first.fingerprint
        self.fps = fps or encoder.fps
        self._encodings = []
        self.clips = []
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


def _require_enough(count: int, where: str) -> None:
    if count < 5:
        raise FeatureError(
            f"{where}: {count} clips of at least {SHORTEST} sampled frames with frame features; "
            "training needs five or more"
        )


def split(clips: Sequence[Clip], share: float, seed: int) -> tuple[list[int], list[int]]:
    """Split clips into those to train on and those held out, by number; clips of a file stay together."""
    files = sorted({clip.file for clip in clips}, key=lambda file: _digest(f"{seed} {Location(file).name}"))
    held = set(files[: max(1, round(share * len(files)))])
    inside = [clip.file in held for clip in clips]
    return [n for n, out in enumerate(inside) if not out], [n for n, out in enumerate(inside) if out]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
