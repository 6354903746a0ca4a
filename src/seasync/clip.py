"""A clip: a stretch of one video file."""

import math
from dataclasses import dataclass, replace

from seasync.errors import VideoError
from seasync.files import Location, Place
from seasync.forms import ClipForm


@dataclass(frozen=True)
class Clip:
    """The frames of a video file that are shown from `start` (inclusive) to `end` (exclusive).

    Attributes
    ----------
    file : str
        Path or URI of the video.
    start : float
        Start, in seconds from the file's first video frame.
    end : float, optional
        End, in seconds. None means the end of the file.
    label : str, optional
        Label of the clip, such as the action it shows.
    id : str, optional
        Id of the clip in its sea.

    Raises
    ------
    VideoError
        If the span is empty or begins before 0.

    Examples
    --------
    >>> seasync.Clip("film.mp4", start=2.0, end=8.5).end
    8.5
    """

    file: str
    start: float = 0.0
    end: float | None = None
    label: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.start) or self.start < 0:
            raise VideoError(f"{self.file}: start must be 0 or more seconds, got {self.start}")
        if self.end is not None and not self.end > self.start:
            raise VideoError(
                f"{self.file}: the span {self.start}–{self.end} s is empty; end must be later than start"
            )

    @classmethod
    def of(cls, source: "Clip | Place", start: float | None = None, end: float | None = None) -> "Clip":
        """`source` itself if it is a clip (narrowed to `start`–`end` if given), else a clip of that file."""
        clip = source if isinstance(source, Clip) else cls(Location(source).text)
        if start is not None or end is not None:
            first, last = clip.start if start is None else start, clip.end if end is None else end
            clip = replace(clip, start=first, end=last, id=None)
        return clip

    def form(self, *, end: float | None = None) -> ClipForm:
        """The clip in the form that JSON has; `end` where the clip itself leaves it open."""
        known_end = end if self.end is None else self.end
        return ClipForm(id=self.id, file=self.file, start=self.start, end=known_end, label=self.label)

    @property
    def name(self) -> str:
        """The file's name, with the span where there is one."""
        end = "" if self.end is None else f"{self.end:.2f}"
        return Location(self.file).name + (f" [{self.start:.2f}–{end}]" if self.start or end else "")
