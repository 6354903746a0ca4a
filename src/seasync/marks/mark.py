"""A mark: a named moment of a clip, or a named stretch of it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import DataError


@dataclass(frozen=True)
class Mark:
    """A named moment, or with `end` a named stretch, in seconds of the clip's file.

    Attributes
    ----------
    name : str
    seconds : float
        When it happens, or when it begins.
    end : float or None
        When it ends; None for a moment.
    confidence : float or None
        How likely a mark that was carried over is within the tolerance (0–1); None if a person set it.

    Examples
    --------
    >>> seasync.render.Mark("impact", 1.2).name
    'impact'
    """

    name: str
    seconds: float
    end: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise DataError(f"a mark: expected its name, then its seconds; got {self.name!r} as its name")
        if not math.isfinite(self.seconds) or self.seconds < 0:
            raise DataError(f"mark {self.name!r}: expected 0 or more seconds, got {self.seconds}")
        if self.end is not None and not self.end >= self.seconds:
            raise DataError(
                f"mark {self.name!r}: ends at {self.end:g} s, before its start {self.seconds:g} s"
            )


MarkedClips = Mapping[str, Sequence[Mark]]
"""Marks by clip: its id, its path, or its file's name."""


Encodings = Callable[[Sequence[int]], Sequence[Encoding]]
"""The encodings of clips by their numbers."""


FrameSeconds = Callable[[str, float], float | None]
"""When a frame of a clip is shown, in seconds, by the clip's name; None for a clip that is not known."""


def is_checked(marks: Sequence[Mark]) -> bool:
    """Whether a person has set or checked these marks: at least one of them has no confidence."""
    return any(mark.confidence is None for mark in marks)


def checked_marks(clips: Sequence[Clip], marks: MarkedClips) -> dict[int, Sequence[Mark]]:
    """The marks of those clips, by number, whose marks a person has set or checked.

    Raises
    ------
    DataError
        If there are marks, of whatever clip, and all of them were carried over.
    """
    everywhere = [mark for each in marks.values() for mark in each]
    if everywhere and not is_checked(everywhere):
        raise DataError(
            "every mark has a confidence, so all were carried over; clear the confidence of a clip's marks "
            "when you have checked them"
        )
    return {n: found for n, clip in enumerate(clips) if is_checked(found := marks_of(clip, marks))}


def expect_inside(name: str, clip: Clip, end: float, marks: Iterable[Mark]) -> None:
    """Raise DataError if a mark lies outside its clip, which ends there and is called so in the error."""
    for mark in marks:
        last = max(mark.end or 0.0, mark.seconds)
        if not clip.start <= mark.seconds <= last <= end + 0.05:  # times are rounded in files
            raise DataError(
                f"{name}: the mark {mark.name!r} is at {mark.seconds:g} s, outside the clip "
                f"({clip.start:g}–{end:.2f} s); correct the marks file"
            )


def frame_seconds(clips: Sequence[Clip], encodings: Encodings) -> FrameSeconds:
    """When frames of encoded clips are shown; the videos are not opened, encodings are read when asked for.

    A clip is known by its id, its path, its file's name, or that without ending. Between sampled frames, and
    after the last one, time is even.
    """
    places = {name: n for n, clip in enumerate(clips) for name in clip_names(clip)}

    def seconds(clip: str, frame: float) -> float | None:
        if clip not in places:
            return None
        (encoding,) = encodings([places[clip]])
        frames, times = encoding.frames, encoding.seconds
        step = (times[-1] - times[0]) / max(frames[-1] - frames[0], 1)
        beyond = min(frame - frames[0], 0) + max(frame - frames[-1], 0)
        return float(np.interp(frame, frames, times) + beyond * step)

    return seconds


def mark_key(clip: Clip) -> str:
    """What a clip is called in a marks file: its path; its id if it is only a part of its file."""
    return clip.id if clip.id and (clip.start > 0 or clip.end is not None) else clip.file


def take_name(clip: Clip) -> str:
    """What a clip is called in tables: its file's name without the ending, and its span if it has one."""
    stem, _, span = clip.name.partition(" ")
    return stem.rpartition(".")[0] + (f" {span}" if span else "") if "." in stem else clip.name


def clip_names(clip: Clip) -> tuple[str, ...]:
    """What a clip may be called in a marks file: its id, its path, its file's name with or without ending."""
    file = clip.file.replace("\\", "/")
    name = file.rpartition("/")[2]
    names = (clip.id, clip.file, file, name, name.rpartition(".")[0] or name, take_name(clip))
    return tuple(dict.fromkeys(each for each in names if each))


def marks_of(clip: Clip, marks: MarkedClips) -> Sequence[Mark]:
    """The marks of a clip, by any of its names."""
    return next((marks[name] for name in clip_names(clip) if name in marks), ())


def mark_names(clips: Iterable[Sequence[Mark]]) -> tuple[str, ...]:
    """All names, ordered by where in their clip the marks come on average."""
    places: dict[str, list[float]] = {}
    for marks in clips:
        ordered = sorted(marks, key=lambda mark: mark.seconds)
        for place, mark in enumerate(ordered):
            places.setdefault(mark.name, []).append(place / len(ordered))
    return tuple(sorted(places, key=lambda name: sum(places[name]) / len(places[name])))
